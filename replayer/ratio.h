/* SPDX-License-Identifier: Apache-2.0 */
/* The limit of the gauge rule, to which all bounds are scaled. */
#ifndef OPD_REPLAYER_RATIO_H
#define OPD_REPLAYER_RATIO_H

#define OPD_PASS_RATIO 16.0

#endif
