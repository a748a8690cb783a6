/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inner stages of online attention while they are traced: scores and weights of all keys, put together from the panels of a part. Included by
 * attention_template.h.
 */

/* Row i of this part in a stage. */
static real *NAME(stage_row)(const opd_attention_job *job, const NAME(block) * block, void *stage, int64_t i)
{
    const opd_attention_shape *shape = &job->shape;
    int64_t plane = block->batch * shape->heads + block->head;
    return (real *)stage + (plane * shape->rows + block->first + i) * shape->keys;
}

static void NAME(keep_panel)(const opd_attention_job *job, const NAME(block) * block, void *stage, int64_t panel,
                             int64_t key, int64_t count)
{
    for (int64_t i = panel; i < block->count && i < panel + PANEL; i++) {
        real *to = NAME(stage_row)(job, block, stage, i) + key;
        for (int64_t j = 0; j < count; j++) {
            to[j] = block->scores[j * PANEL + i - panel];
        }
    }
}

/* A panel's weights; those of the keys before are rescaled as the sums are. */
static void NAME(keep_weights)(const opd_attention_job *job, const NAME(block) * block, int64_t panel, int64_t key,
                               int64_t count)
{
    for (int64_t i = panel; i < block->count && i < panel + PANEL; i++) {
        real *before = NAME(stage_row)(job, block, job->weights, i);
        for (int64_t j = 0; j < key; j++) {
            before[j] *= block->rescale[i - panel];
        }
    }
    NAME(keep_panel)(job, block, job->weights, panel, key, count);
}

static void NAME(divide_weights)(const opd_attention_job *job, const NAME(block) * block)
{
    for (int64_t i = 0; i < block->count; i++) {
        real *weights = NAME(stage_row)(job, block, job->weights, i);
        for (int64_t j = 0; j < job->shape.keys; j++) {
            weights[j] /= block->total[i];
        }
    }
}
