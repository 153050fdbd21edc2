/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/mount/node.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { OPEN_LIMIT = 4 };

static int set_up(void **state)
{
	static struct tree tree;
	int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	*state = &tree;
	return tree_init(&tree, root, OPEN_LIMIT);
}

static int tear_down(void **state)
{
	tree_free(*state);
	return 0;
}

static struct node *add(struct tree *tree, enum node_kind kind,
			struct node *parent, const char *name)
{
	struct node *node = node_new(tree, kind, parent, name);

	assert_non_null(node);
	tree_lock(tree);
	tree_attach(tree, node);
	tree_unlock(tree);
	return node;
}

static struct node *find(struct tree *tree, const struct node *parent,
			 const char *name)
{
	struct node *node;

	tree_lock(tree);
	node = tree_find(tree, parent, name);
	tree_unlock(tree);
	return node;
}

static void attached_node_is_found_under_its_name_only(void **state)
{
	struct tree *tree = *state;
	struct node *node = add(tree, NODE_FILE, tree->root, "a");

	assert_ptr_equal(find(tree, tree->root, "a"), node);
	assert_null(find(tree, tree->root, "b"));
	assert_null(find(tree, node, "a"));
	node_drop(tree, node);
	assert_null(find(tree, tree->root, "a"));
}

static void newer_node_takes_the_name_and_the_older_lives_on(void **state)
{
	struct tree *tree = *state;
	struct node *old = add(tree, NODE_FILE, tree->root, "a");
	struct node *new = add(tree, NODE_FILE, tree->root, "a");

	assert_ptr_equal(find(tree, tree->root, "a"), new);
	assert_false(old->attached);
	node_drop(tree, old);
	assert_ptr_equal(find(tree, tree->root, "a"), new);
	node_drop(tree, new);
}

static void private_versions_are_not_found_by_name(void **state)
{
	struct tree *tree = *state;
	struct node *node = add(tree, NODE_PRIVATE, tree->root, "a");

	assert_null(find(tree, tree->root, "a"));
	assert_ptr_equal(tree->root->directory.privates, node);
	tree_lock(tree);
	tree_detach(tree, node);
	tree_unlock(tree);
	assert_null(tree->root->directory.privates);
	node_drop(tree, node);
}

static void kernels_lookups_keep_a_node(void **state)
{
	struct tree *tree = *state;
	struct node *node = add(tree, NODE_FILE, tree->root, "a");

	node->lookups = 2;
	node_drop(tree, node);
	node_forget(tree, node, 1);
	assert_ptr_equal(find(tree, tree->root, "a"), node);
	node_forget(tree, node, 1);
	assert_null(find(tree, tree->root, "a"));
}

static void children_keep_their_parents(void **state)
{
	struct tree *tree = *state;
	struct node *parent = add(tree, NODE_DIRECTORY, tree->root, "d");
	struct node *child = add(tree, NODE_FILE, parent, "f");

	node_drop(tree, parent);
	assert_ptr_equal(find(tree, tree->root, "d"), parent);
	node_drop(tree, child);
	assert_null(find(tree, tree->root, "d"));
}

static void moved_node_is_found_at_its_new_place(void **state)
{
	struct tree *tree = *state;
	struct node *to = add(tree, NODE_DIRECTORY, tree->root, "d");
	struct node *node = add(tree, NODE_FILE, tree->root, "a");
	struct node *replaced = add(tree, NODE_FILE, to, "b");
	struct place place;

	tree_lock(tree);
	assert_int_equal(tree_move(tree, node, to, "b"), 0);
	tree_unlock(tree);
	assert_null(find(tree, tree->root, "a"));
	assert_ptr_equal(find(tree, to, "b"), node);
	assert_false(replaced->attached);
	assert_int_equal(node_place(tree, node, &place), 0);
	assert_ptr_equal(place.parent, to);
	assert_string_equal(place.name, "b");
	place_free(tree, &place);
	node_drop(tree, replaced);
	node_drop(tree, node);
	node_drop(tree, to);
}

static void many_names_are_all_found(void **state)
{
	enum { COUNT = 5000 };
	struct tree *tree = *state;
	struct node *nodes[COUNT];
	char name[16];

	for (int i = 0; i < COUNT; i++) {
		snprintf(name, sizeof(name), "%d", i);
		nodes[i] = add(tree, NODE_FILE, tree->root, name);
	}
	for (int i = 0; i < COUNT; i++) {
		snprintf(name, sizeof(name), "%d", i);
		assert_ptr_equal(find(tree, tree->root, name), nodes[i]);
		node_drop(tree, nodes[i]);
	}
	assert_int_equal(tree->count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			attached_node_is_found_under_its_name_only, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(
			newer_node_takes_the_name_and_the_older_lives_on,
			set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			private_versions_are_not_found_by_name, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(kernels_lookups_keep_a_node,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(children_keep_their_parents,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			moved_node_is_found_at_its_new_place, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(many_names_are_all_found,
						set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
