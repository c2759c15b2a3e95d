/* SPDX-License-Identifier: Apache-2.0 */
#include "master/client.h"

#include <errno.h>
#include <string.h>

#include "transfer/base/err.h"
#include "transfer/base/num.h"

int
client_new(uint64_t id, struct client **ret_client)
{
	struct client *client = calloc(1, sizeof(*client));

	assert(id != 0);

	if (client == NULL)
		return err_new(-ENOMEM);

	client->id = id;
	client->state = CLIENT_OK;
	list_link_init(&client->at_heard);
	list_init(&client->segments);
	list_init(&client->puts);
	list_init(&client->answers);
	list_init(&client->offers);
	*ret_client = client;
	return 0;
}

void
client_free(struct client *client)
{
	if (client == NULL)
		return;

	assert(list_is_empty(&client->segments) && list_is_empty(&client->puts));
	assert(client->peer == NULL && list_is_empty(&client->offers));

	list_each_safe(&client->answers, link)
		answer_free(list_of(link, struct answer, at_client));
	list_remove(&client->at_heard);
	if (client->tenant != NULL)
		client->tenant->n_clients--;
	free(client->name);
	free(client->host);
	free(client);
}

int
client_set_words(struct client *client, const uint8_t *name, uint32_t name_len, const uint8_t *host,
		 uint32_t host_len)
{
	char *name_copy = strndup((const char *)name, name_len);
	char *host_copy = strndup((const char *)host, host_len);

	if (name_copy == NULL || host_copy == NULL) {
		free(name_copy);
		free(host_copy);
		return err_new(-ENOMEM);
	}
	free(client->name);
	free(client->host);
	client->name = name_copy;
	client->host = host_copy;
	return 0;
}

static void
forget_old(struct client *client)
{
	list_each_safe(&client->answers, link) {
		struct answer *answer = list_of(link, struct answer, at_client);

		if (client->n_answers < ANSWERS_MAX && client->answer_bytes <= ANSWER_BYTES_MAX)
			return;
		if (!list_link_is_on(&answer->at_held))
			answer_free(answer);
	}
}

int
client_answer_new(struct client *client, uint64_t request_id, struct answer **ret_answer)
{
	struct answer *answer;

	forget_old(client);
	answer = calloc(1, sizeof(*answer));
	if (answer == NULL)
		return err_new(-ENOMEM);

	answer->client = client;
	answer->request_id = request_id;
	buf_init(&answer->frame);
	list_link_init(&answer->at_held);
	list_link_init(&answer->at_client);
	list_push_back(&client->answers, &answer->at_client);
	client->n_answers++;
	client->newest_request_id = num_max(client->newest_request_id, request_id);
	*ret_answer = answer;
	return 0;
}

/*
 * A client numbers its requests upwards: what is new is known by its number, without a look at
 * the answers of others.  Newest first: what is asked again is what was asked last.
 */
struct answer *
client_answer(const struct client *client, uint64_t request_id)
{
	if (request_id > client->newest_request_id)
		return NULL;
	for (struct list_link *link = client->answers.head.prev; link != &client->answers.head;
	     link = link->prev) {
		struct answer *answer = list_of(link, struct answer, at_client);

		if (answer->request_id == request_id)
			return answer;
	}
	return NULL;
}

void
answer_free(struct answer *answer)
{
	if (list_link_is_on(&answer->at_held))
		answer->client->held_bytes -= buf_len(&answer->frame);
	list_remove(&answer->at_held);
	list_remove(&answer->at_client);
	answer->client->n_answers--;
	answer->client->answer_bytes -= buf_len(&answer->frame);
	buf_fini(&answer->frame);
	free(answer);
}
