// Package numbers has the numbers of reports and how people read them: sums that may not be known, exact fractions, quotients, and
// ticks in the units of a clock. Nothing in here overflows in silence: a sum that does not fit is not known. All is safe for
// concurrent use.
package numbers
