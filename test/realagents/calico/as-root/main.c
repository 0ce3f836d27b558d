/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs the program of its own name in /usr/libexec as the user that it effectively is. iptables from
 * 1.8.8 on, and nft, end with 111 at once if a set-uid program of another user has started them.
 */
#define _GNU_SOURCE
#include <libgen.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	char program[256];

	snprintf(program, sizeof(program), "/usr/libexec/%s", basename(argv[0]));
	if (setresgid(getegid(), getegid(), getegid()) != 0 || setresuid(geteuid(), geteuid(), geteuid()) != 0) {
		perror("become the effective user");
		return 1;
	}
	execv(program, argv);
	perror(program);
	return 1;
}
