/* SPDX-License-Identifier: Apache-2.0 */
/* Names of patterns. */
#include <opsdebug/memory.h>
#include <opsdebug/replay.h>

const char *opd_pattern_name(opd_pattern pattern)
{
    static const char *const names[] = {
        [OPD_PATTERN_NONE] = "none",           [OPD_PATTERN_WHOLE] = "whole",     [OPD_PATTERN_SCALED] = "scaled",
        [OPD_PATTERN_RANGE] = "range",         [OPD_PATTERN_ROW] = "one-index",   [OPD_PATTERN_TAIL] = "tail",
        [OPD_PATTERN_LAST_TILE] = "last-tile", [OPD_PATTERN_BORDER] = "border",   [OPD_PATTERN_PERIOD] = "every-nth",
        [OPD_PATTERN_SEAM] = "block-seam",     [OPD_PATTERN_GROWING] = "growing", [OPD_PATTERN_ONE] = "one-element",
        [OPD_PATTERN_SCATTER] = "scatter",
    };
    return (unsigned)pattern < OPD_COUNT(names) ? names[pattern] : "none";
}
