/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Writes tiffin.conf(5) to standard output.  The settings come from the lists of the
 * programs, word for word; the rest of the page stands here.
 *
 *      conf_page > man/tiffin.conf.5
 *
 * The page is kept in the tree; a test compares it with what this program writes.
 */
#include <inttypes.h>
#include <stdint.h>
#include <string.h>

#include "man/mdoc.h"
#include "transfer/base/num.h"

/* ---- one setting ---- */

enum kind { NUMBER, BYTES, MS, TEXT, FLAG, CHOICE };

struct setting {
	enum kind kind;
	const char *name, *unit, *def;
	uint64_t min, max;
	const char *help;
};

static const char *const values[] = {
	[NUMBER] = "number", [BYTES] = "size", [MS] = "time",
	[TEXT] = "text",     [FLAG] = "0|1",   [CHOICE] = "word",
};

/* put_amount -- "64KiB": without a blank and ".0", so that it can be copied into a file. */
static void
put_amount(enum kind kind, uint64_t amount)
{
	char text[32];

	if (kind == BYTES)
		num_show_bytes(text, sizeof(text), amount);
	else if (kind == MS)
		num_show_ms(text, sizeof(text), amount);
	else
		snprintf(text, sizeof(text), "%" PRIu64, amount);
	for (const char *at = text; *at != '\0'; at++) {
		if (strncmp(at, ".0 ", 3) == 0)
			at += 2;
		else if (*at != ' ')
			putchar(*at);
	}
}

static void
put_range(const struct setting *s)
{
	if (s->kind == TEXT) {
		printf("At most %" PRIu64 " bytes.\n", s->max);
	} else if (s->kind == CHOICE) {
		printf("One of: %s.\n", s->unit);
	} else if (s->kind != FLAG) {
		fputs("From ", stdout);
		put_amount(s->kind, s->min);
		fputs(" to ", stdout);
		put_amount(s->kind, s->max);
		puts(s->unit[0] == '%' ? " %." : ".");
	}
}

static void
put_setting(const struct setting *s)
{
	char help[1024];

	printf(".It Ic %s No = Ar %s\n", s->name, values[s->kind]);
	snprintf(help, sizeof(help), "%s.", s->help);
	mdoc_say(stdout, help);
	put_range(s);
	if (s->def[0] != '\0')
		printf("Default:\n.Ql %s .\n", s->def);
}

static void
put_settings(const struct setting *settings, size_t n)
{
	puts(".Bl -tag -width Ds");
	for (size_t i = 0; i < n; i++)
		put_setting(&settings[i]);
	puts(".El");
}

#define OPTION(kind, field, unit, def, min, max, help) {kind, #field, unit, def, min, max, help},

static const struct setting master_settings[] = {
#include "master/options.def"
};

static const struct setting provider_settings[] = {
#include "core/provider_options.def"
};

static const struct setting fs_settings[] = {
#include "fs/options.def"
};

#define PUT_SETTINGS(settings) put_settings(settings, sizeof(settings) / sizeof((settings)[0]))

/* ---- what stands here ---- */

static void
say(const char *text)
{
	mdoc_say(stdout, text);
}

static void
put_form(void)
{
	puts(".Nm tiffin.conf\n.Nd settings of the programs of a Tiffin store\n.Sh DESCRIPTION");
	say("A file of settings is read by the program that is told so, by --config=FILE; none is "
	    "read by itself, and nothing comes from the environment. What stands on the command "
	    "line goes before what stands in the file, and that before the default.");
	puts(".Pp");
	say("A line is one setting, \"name = value\", and belongs to the section above it: "
	    "[master], [provider] or [fs]. A program looks at its own section only, so that one "
	    "file can serve all. A # at the beginning of a line or after a blank begins a "
	    "comment. A line that is wrong, a name that is not known and a value out of its range "
	    "end the program with one line that names file, line and reason.");
	puts(".Pp");
	say("On the command line the same settings are options: lease_ms = 5s is there "
	    "--lease-ms=5s, and for tiffinfs -o ro,replicas=2. With --dump-config master and "
	    "provider "
	    "print all of theirs as in force.");
	puts(".Bl -tag -width Ds -offset indent");
	puts(".It Ar size\nBytes, or with a unit:\n.Ql 4096 , Ql 64KiB , Ql 1.5GiB .");
	puts(".It Ar time\nMilliseconds, or with a unit:\n.Ql 250ms , Ql 1.5s , Ql 30m , Ql 2h .");
	puts(".It Ar 0|1\nAlso written\n.Ql no , Ql yes , Ql false , Ql true , Ql off , Ql on .");
	puts(".El\n.Ss Addresses");
	puts(".Bl -tag -width Ds");
	puts(".It Ar unix:path\nA Unix socket.\nWho may open it is known by its user id; no "
	     "key is asked for.");
	puts(".It Ar host:port\nTCP.\nA master listens at 7400 by custom; port 0 "
	     "is any free one.\n"
	     "An address other than\n.Li 127.0.0.1\nand\n.Li [::1]\nneeds a cluster key, or\n.Ic "
	     "insecure .");
	puts(".El");
}

static void
put_sections(void)
{
	puts(".Ss Section master\nOf\n.Xr tiffin-master 8 .");
	PUT_SETTINGS(master_settings);
	puts(".Ss Section provider\nOf\n.Xr tiffin-provider 8 .");
	PUT_SETTINGS(provider_settings);
	puts(".Ss Section fs\nOf\n.Xr tiffinfs 8 ,\nwhere these are also the words of\n.Fl o .");
	PUT_SETTINGS(fs_settings);
}

static void
put_files(void)
{
	puts(".Sh FILES");
	say("Where things are when nobody says otherwise, for root and for others:");
	puts(".Bl -column \"run directory\" \"/var/lib/tiffin\" \"/run/user/UID/tiffin or "
	     "/tmp/tiffin-UID\"");
	puts(".It run directory Ta Pa /run/tiffin Ta Pa /run/user/UID/tiffin , No else Pa "
	     "/tmp/tiffin-UID");
	puts(".It state directory Ta Pa /var/lib/tiffin Ta Pa ~/.local/state/tiffin");
	puts(".It master Ta Pa RUN_DIR/master.sock Ta the same\n.El\n.Pp");
	say("Both directories are made with mode 0700 when they are missing. A directory of that "
	    "name that belongs to somebody else, or that others may write to, is refused.");
}

static void
put_examples(void)
{
	puts(".Sh EXAMPLES");
	puts("A master for other machines, and a provider that keeps its bytes over a restart:");
	puts(".Bd -literal -offset indent");
	puts("# /etc/tiffin.conf");
	puts("[master]");
	puts("listen = unix:/run/tiffin/master.sock 10.0.0.1:7400");
	puts("key_file = /etc/tiffin.key");
	puts("lease_ms = 10s        # readers are far away");
	puts("durability = power");
	puts("");
	puts("[provider]");
	puts("listen = unix:/run/tiffin/p.sock 10.0.0.1:7401");
	puts("key_file = /etc/tiffin.key");
	puts("size = 64GiB");
	puts("path = /dev/shm/tiffin");
	puts("huge_pages = 1");
	puts(".Ed\n.Pp");
	puts("Started with:");
	puts(".Bd -literal -offset indent");
	puts("# tiffin-master --new-key=/etc/tiffin.key");
	puts("# tiffin-master --config=/etc/tiffin.conf &");
	puts("# tiffin-provider --config=/etc/tiffin.conf &");
	puts(".Ed");
}

int
main(void)
{
	mdoc_head(stdout, "man/conf_page.c from the programs' lists of options", "tiffin.conf", 5);
	put_form();
	put_sections();
	put_files();
	put_examples();
	puts(".Sh SEE ALSO\n.Xr tiffin 1 ,\n.Xr tiffin 7 ,\n.Xr tiffin-master 8 ,\n.Xr "
	     "tiffin-provider 8 ,\n"
	     ".Xr tiffinfs 8");
	return ferror(stdout) != 0;
}
