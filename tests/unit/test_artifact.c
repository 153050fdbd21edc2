/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "codec/writer.h"
#include "compiler/artifact.h"
#include "compiler/index.h"
#include "compiler/om.h"
#include "compiler/verdict.h"

enum { LIMIT = 1 << 22 };

static void the_kind_follows_from_the_name(void **state)
{
	static const struct {
		const char *name;
		enum artifact_kind kind;
		const char *text;
	} cases[] = {
		{ "compiled_module", ARTIFACT_COMPILED_MODULE,
		  "compiled_module" },
		{ "graph_1_20260117202307.om", ARTIFACT_OM, "om" },
		{ "graph_1.idx", ARTIFACT_INDEX, "index" },
		{ "graph_1.lock", ARTIFACT_NONE, "plain" },
		{ "graph_1.rdcpkt", ARTIFACT_NONE, "plain" },
		{ "compiled_module.om", ARTIFACT_OM, "om" },
		{ "compiled_module2", ARTIFACT_NONE, "plain" },
		{ ".compiled_module.swp", ARTIFACT_NONE, "plain" },
		{ ".om", ARTIFACT_NONE, "plain" },
		{ ".idx", ARTIFACT_NONE, "plain" },
		{ "om", ARTIFACT_NONE, "plain" },
		{ "a.om.tmp", ARTIFACT_NONE, "plain" },
		{ "", ARTIFACT_NONE, "plain" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(artifact_kind_of(cases[i].name),
				 cases[i].kind);
		assert_string_equal(artifact_kind_text(cases[i].kind),
				    cases[i].text);
	}
}

static void a_plain_file_is_always_sound(void **state)
{
	struct verdict verdict = { .soundness = UNSOUND };

	(void)state;
	artifact_judge(ARTIFACT_NONE, NULL, 0, &verdict);
	assert_int_equal(verdict.soundness, SOUND);
	assert_string_equal(verdict.reason, "");
}

static void an_artifact_is_never_empty(void **state)
{
	static const enum artifact_kind kinds[] = { ARTIFACT_COMPILED_MODULE,
						    ARTIFACT_OM,
						    ARTIFACT_INDEX };
	struct verdict verdict;

	(void)state;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		artifact_judge(kinds[i], NULL, 0, &verdict);
		assert_int_equal(verdict.soundness, UNSOUND);
		assert_string_equal(verdict.reason, "the file is empty");
	}
}

static void a_reason_is_one_line_that_fits(void **state)
{
	struct verdict verdict;
	char room[400];

	(void)state;
	memset(room, 'x', sizeof(room) - 1);
	room[sizeof(room) - 1] = '\0';
	room[1] = '\n';
	verdict_set(&verdict, FOREIGN, 7, "%s", room);
	assert_int_equal(strlen(verdict.reason), sizeof(verdict.reason) - 1);
	assert_memory_equal(verdict.reason, "x?x", 3);
	assert_int_equal(verdict.where, 7);
}

/* A header whose partitions begin far beyond what is there to be read. */
static void of_a_model_only_header_and_tables_are_read(void **state)
{
	size_t size = OM_HEADER_SIZE + 8 + 24 + ((size_t)1 << 40);
	struct om_header header = { .magic = "IMOD" };
	struct writer start = writer_upto(LIMIT);
	struct verdict verdict;

	(void)state;
	header.header_size = le32_of(OM_HEADER_SIZE);
	header.model_length = le64_of(size - OM_HEADER_SIZE);
	writer_put(&start, &header, sizeof(header));
	writer_le64(&start, 1); /* one partition */
	writer_le64(&start, 0); /* its type */
	writer_le64(&start, 0);
	writer_le64(&start, (uint64_t)1 << 40);
	om_judge(start.bytes, size, &verdict);
	assert_int_equal(verdict.soundness, SOUND);
	om_judge(start.bytes, size - 1, &verdict);
	assert_int_equal(verdict.soundness, UNSOUND);
	writer_free(&start);
}

static void expect_names(const char *json, const char *const *names,
			 size_t count, size_t described)
{
	struct index_names found;
	struct verdict verdict;

	index_read(json, strlen(json), &verdict, &found);
	if (verdict.soundness != SOUND)
		fail_msg("%s: %s", json, verdict.reason);
	assert_int_equal(found.count, count);
	for (size_t i = 0; i < count; i++)
		assert_string_equal(found.names[i], names[i]);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(found.described[i], i == described);
	index_names_free(&found);
	assert_null(found.names);
}

static void an_index_gives_each_name_once_without_its_path(void **state)
{
	(void)state;
	expect_names("{\"cache_file_list\": [{\"cache_file_name\": "
		     "\"/a/b/g.om\", \"var_desc_file_name\": \"b/g.rdcpkt\"}, "
		     "{\"cache_file_name\": \"h.om\"}, "
		     "{\"cache_file_name\": \"g.om\"}]}",
		     (const char *const[]){ "g.om", "g.rdcpkt", "h.om" }, 3, 1);
	expect_names("{\"cache_file_list\": [{\"cache_file_name\": "
		     "\"\xe6\x8e\xa8.om\", \"var_desc_file_name\": \"\"}]}",
		     (const char *const[]){ "\xe6\x8e\xa8.om" }, 1, 1);
}

static void an_index_has_limits(void **state)
{
	struct writer json = writer_upto(LIMIT);
	struct verdict verdict;

	(void)state;
	writer_string(&json, "{\"cache_file_list\": [");
	for (int i = 0; i <= INDEX_NAMES_MAX; i++)
		writer_printf(&json, "%s{\"cache_file_name\": \"%d.om\"}",
			      i ? "," : "", i);
	writer_string(&json, "]}");
	index_read(json.bytes, json.size, &verdict, NULL);
	assert_int_equal(verdict.soundness, UNSOUND);
	assert_string_equal(verdict.reason, "too many files are named");

	writer_fill(&json, ' ', INDEX_SIZE_MAX);
	index_read(json.bytes, json.size, &verdict, NULL);
	assert_int_equal(verdict.soundness, UNSOUND);
	assert_string_equal(verdict.reason, "the file is too large");
	writer_free(&json);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_kind_follows_from_the_name),
		cmocka_unit_test(a_plain_file_is_always_sound),
		cmocka_unit_test(an_artifact_is_never_empty),
		cmocka_unit_test(a_reason_is_one_line_that_fits),
		cmocka_unit_test(of_a_model_only_header_and_tables_are_read),
		cmocka_unit_test(
			an_index_gives_each_name_once_without_its_path),
		cmocka_unit_test(an_index_has_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
