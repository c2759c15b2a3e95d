/* SPDX-License-Identifier: Apache-2.0 */

/*
 * list.h -- a ring of links inside the structs it holds; no allocation, O(1) everything.
 *
 *      struct list puts;                       list_init(&puts);
 *      struct put { struct list_link at; };    list_push_back(&puts, &put->at);
 *
 * A link that is on no list points at itself; list_remove() may be called twice.
 */
#ifndef TRANSFER_BASE_LIST_H
#define TRANSFER_BASE_LIST_H

#include "transfer/base/base.h"

struct list_link {
	struct list_link *prev, *next;
};

struct list {
	struct list_link head;
};

static inline void
list_link_init(struct list_link *link)
{
	link->prev = link->next = link;
}

static inline void
list_init(struct list *list)
{
	list_link_init(&list->head);
}

static inline bool
list_is_empty(const struct list *list)
{
	return list->head.next == &list->head;
}

static inline bool
list_link_is_on(const struct list_link *link)
{
	return link->next != link;
}

static inline void
list_insert_after(struct list_link *where, struct list_link *link)
{
	assert(!list_link_is_on(link));
	link->prev = where;
	link->next = where->next;
	where->next->prev = link;
	where->next = link;
}

static inline void
list_push_front(struct list *list, struct list_link *link)
{
	list_insert_after(&list->head, link);
}

static inline void
list_push_back(struct list *list, struct list_link *link)
{
	list_insert_after(list->head.prev, link);
}

static inline void
list_remove(struct list_link *link)
{
	link->prev->next = link->next;
	link->next->prev = link->prev;
	list_link_init(link);
}

/* list_first, list_last -- the link, or NULL when the list is empty. */
static inline struct list_link *
list_first(const struct list *list)
{
	return list_is_empty(list) ? NULL : list->head.next;
}

static inline struct list_link *
list_last(const struct list *list)
{
	return list_is_empty(list) ? NULL : list->head.prev;
}

#define list_of(link, type, field) container_of(link, type, field)

/* list_each -- every link in order; the body may not remove. */
#define list_each(list, link)                                                                      \
	for (struct list_link *link = (list)->head.next; link != &(list)->head; link = link->next)

/* list_each_safe -- the body may remove the link it stands on. */
#define list_each_safe(list, link)                                                                 \
	for (struct list_link *link = (list)->head.next, *link##_next = link->next;                \
	     link != &(list)->head; link = link##_next, link##_next = link->next)

#endif
