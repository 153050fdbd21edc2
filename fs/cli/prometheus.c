/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/cli/prometheus.h"

#include <inttypes.h>
#include <string.h>

#include "compiler/utf8.h"
#include "fs/cli/measures.h"

/* Where samples go, and the label that each of them has. */
struct exposition {
	FILE *to;
	const char *label;
	const char *value;
};

/* A label is UTF-8; a path need not be. */
static void put_value(FILE *to, const char *value)
{
	bool valid = utf8_valid((const uint8_t *)value, strlen(value));

	for (const char *c = value; *c; c++)
		if (*c == '\n')
			fputs("\\n", to);
		else if (*c == '"' || *c == '\\')
			fprintf(to, "\\%c", *c);
		else
			fputc(valid || (unsigned char)*c < 0x80 ? *c : '?', to);
}

static void put_sample(const struct exposition *e, const char *prefix,
		       const char *name, const char *suffix, const char *type,
		       const char *help, uint64_t value)
{
	fprintf(e->to,
		"# HELP tacfs_%s%s%s %s.\n"
		"# TYPE tacfs_%s%s%s %s\n"
		"tacfs_%s%s%s{%s=\"",
		prefix, name, suffix, help, prefix, name, suffix, type, prefix,
		name, suffix, e->label);
	put_value(e->to, e->value);
	fprintf(e->to, "\"} %" PRIu64 "\n", value);
}

static void put_counts(const struct exposition *e, const struct counts *counts)
{
	for (int i = 0; i < COUNTER_COUNT; i++) {
		const struct counter_about *about =
			counter_about((enum counter)i);

		put_sample(e, "", about->name, "_total", "counter", about->help,
			   counts->value[i]);
	}
}

void prometheus_store(FILE *to, const char *path,
		      const struct store_measures *m, const struct report *sum)
{
	const struct exposition e = { to, "store", path };
	const struct measure *measure;

	for (size_t i = 0; (measure = measure_at(i)); i++)
		put_sample(&e, "store_", measure->name, "", "gauge",
			   measure->help, measure_value(measure, m));
	if (!sum)
		return;
	put_sample(&e, "", "mounts", "_total", "counter",
		   "Mounts that have been counted", sum->mounts);
	put_sample(&e, "", "active_mounts", "", "gauge",
		   "Mounts that have not ended", sum->active);
	put_counts(&e, &sum->counts);
}

void prometheus_mount(FILE *to, const char *path, const struct counts *counts)
{
	const struct exposition e = { to, "mount", path };

	put_counts(&e, counts);
}
