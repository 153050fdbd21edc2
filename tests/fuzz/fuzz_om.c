/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as an .om; one that is sound is not sound when cut short. */
#include <stdlib.h>

#include "compiler/om.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct verdict verdict;

	om_judge(data, size, &verdict);
	if (verdict.where > size)
		abort();
	if (verdict.soundness != SOUND)
		return 0;
	om_judge(data, size - 1, &verdict);
	if (verdict.soundness != UNSOUND)
		abort();
	return 0;
}
