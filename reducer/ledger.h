/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ledger of runs: every verdict the oracle gave, by what was judged. Kept in memory and, when a path is given, in an
 * append-only text file, so that a search that was killed goes on without asking anything twice.
 */
#ifndef OPD_LEDGER_H
#define OPD_LEDGER_H

#include <opsdebug/reduce.h>

/* Why a run was made; runs of one purpose never answer for another. */
typedef enum opd_purpose {
    OPD_PURPOSE_JUDGE = 'J',
    OPD_PURPOSE_VERIFY = 'V',  /* of an accepted step, from where it was written to */
    OPD_PURPOSE_MONITOR = 'M', /* repeated run of the incumbent */
} opd_purpose;

typedef struct opd_ledger_key {
    opd_digest id;      /* content of the case */
    uint64_t placement; /* alignment and overlap, which the content does not say */
    opd_purpose purpose;
} opd_ledger_key;

typedef struct opd_ledger_count {
    uint32_t runs, same;         /* used in this search */
    opd_verdict last;            /* of the last used run; when runs > 0, as the next one */
    const opd_failure *observed; /* what it saw; until the next entry is added */
} opd_ledger_count;

typedef struct opd_ledger opd_ledger;

/*
 * section   names the search: entries written under another section are left alone and not used.
 * errors    E_IO (text names the path), E_NOMEM.
 */
opd_status opd_ledger_open(opd_ledger **out, const char *path, const char *section);
void opd_ledger_close(opd_ledger *ledger);

opd_ledger_count opd_ledger_counted(const opd_ledger *ledger, const opd_ledger_key *key);
/* Uses the oldest run of key that an earlier search made and this one has not used; false when there is none. */
bool opd_ledger_reuse(opd_ledger *ledger, opd_verdict *verdict, opd_failure *observed, const opd_ledger_key *key);
/* Adds a run made now (it counts as used). */
opd_status opd_ledger_add(opd_ledger *ledger, const opd_ledger_key *key, opd_verdict verdict,
                          const opd_failure *observed);

#endif
