/* SPDX-License-Identifier: Apache-2.0 */
/* What is taken for a report gives the same one when it is written again. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fs/store/report.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void round_trip(const struct report *report)
{
	json_t *object = json_object();
	struct report again = { .mounts = 0 };

	if (report_put(object, report) != 0)
		abort();
	report_take(object, &again);
	json_decref(object);
	if (memcmp(&again, report, sizeof(again)) != 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct report report;

	if (size <= REPORT_MAX && report_parse(data, size, &report) == 0)
		round_trip(&report);
	return 0;
}
