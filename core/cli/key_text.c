/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/key_text.h"

void
text_scrub(char *text)
{
	for (; *text != '\0'; text++)
		if ((uint8_t)*text < 0x20 || *text == 0x7f)
			*text = '?';
}
