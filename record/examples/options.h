/* Flags that the C examples share. */
#ifndef EXAMPLE_OPTIONS_H
#define EXAMPLE_OPTIONS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct options {
	int size, steps, sleep;
	double imbalance; /* per cent */
	double slow;      /* factor of the time of computations; 0 is 1 */
	double delay;     /* before each send, microseconds */
};

/* value returns what follows the name of a flag, as --name=value or in the next argument, NULL for another flag. */
static const char *value(const char *name, int argc, char **argv, int *i)
{
	size_t n = strlen(name);
	if (strncmp(argv[*i], name, n) != 0)
		return NULL;
	if (argv[*i][n] == '=')
		return argv[*i] + n + 1;
	return argv[*i][n] == 0 && *i + 1 < argc ? argv[++*i] : NULL;
}

static int read_options(struct options *o, int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		const char *v;
		if ((v = value("--size", argc, argv, &i)))
			o->size = atoi(v);
		else if ((v = value("--steps", argc, argv, &i)))
			o->steps = atoi(v);
		else if ((v = value("--imbalance", argc, argv, &i)))
			o->imbalance = atof(v);
		else if ((v = value("--slow", argc, argv, &i)))
			o->slow = atof(v);
		else if ((v = value("--delay-us", argc, argv, &i)))
			o->delay = atof(v);
		else if ((v = value("--compute", argc, argv, &i)) && (!strcmp(v, "busy") || !strcmp(v, "sleep")))
			o->sleep = v[0] == 's';
		else {
			fprintf(stderr, "%s: %s: not one of --size N, --steps N, --imbalance PERCENT, --slow FACTOR, --delay-us D, --compute busy|sleep\n", argv[0], argv[i]);
			return 0;
		}
	}
	if (o->slow == 0)
		o->slow = 1;
	return o->size >= 3 && o->steps >= 0 && o->imbalance >= 0 && o->slow > 0 && o->delay >= 0;
}

/* sleep_for sleeps for some microseconds. */
static inline void sleep_for(double us)
{
	struct timespec t = {(time_t)(us / 1e6), (long)(us * 1e3) % 1000000000L};
	clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL);
}

/* before_send makes a slow network: the sender pays. */
static inline void before_send(const struct options *o, int to, int nobody)
{
	if (o->delay > 0 && to != nobody)
		sleep_for(o->delay);
}

/* before_all does the same before a collective operation: a send in each of its log2(size) rounds. */
static inline void before_all(const struct options *o, int size)
{
	for (int n = 1; n < size && o->delay > 0; n *= 2)
		sleep_for(o->delay);
}

#endif
