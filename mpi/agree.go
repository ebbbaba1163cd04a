package mpi

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Coded is an error that stands for an exit code above 0. Agree chooses the most severe one of the ranks' errors. Errors that are not Coded
// count as code 1.
type Coded interface {
	error
	Code() int
}

// severities are exit codes, from the least to the most severe. Signals (130, 143) and other codes rank as otherCode.
var severities = [...]int{0, 1, 75, otherCode, 4, 2, 3, 5, 6}

const otherCode = -1

// severity returns the place of an exit code in severities. Main combines the codes of the ranks with it.
func severity(code int) int {
	if i := slices.Index(severities[:], code); i >= 0 {
		return i
	}
	return slices.Index(severities[:], otherCode)
}

// AgreedError is the error of a collective phase, the same on every rank: the most severe error, of equally severe ones the lowest rank's.
// Only text, code and class are transferred. It wraps its class, and the sentinel that AgreeOn found.
type AgreedError struct {
	Rank     int // the rank whose error this is
	Failed   int // how many ranks failed
	Size     int // ranks in the communicator
	Text     string
	class    Class
	sentinel error
	code     int
}

func (e *AgreedError) Error() string {
	switch {
	case e.Size == 1:
		return e.Text
	case e.Failed == 1:
		return fmt.Sprintf("rank %d: %s", e.Rank, e.Text)
	}
	return fmt.Sprintf("rank %d: %s (%d of %d ranks failed)", e.Rank, e.Text, e.Failed, e.Size)
}

// Code is the exit code of the chosen error.
func (e *AgreedError) Code() int { return e.code }

// Unwrap returns the class, if there is one, and the sentinel.
func (e *AgreedError) Unwrap() []error {
	var list []error
	if e.class != 0 {
		list = append(list, e.class)
	}
	if e.sentinel != nil {
		list = append(list, e.sentinel)
	}
	return list
}

// AgreeOn is c.Agree for errors that wrap sentinels of other packages. errors.Is(result, s) holds for the first sentinel s of the list that
// the chosen error wraps. The list must be the same on every rank. Collective.
func AgreeOn(c Comm, err error, sentinels ...error) error {
	own := describe(c.Rank(), err, sentinels)
	key := int64(math.MaxInt64)
	if err != nil {
		key = int64(len(severities)-severity(own.code))<<32 | int64(c.Rank())
	}
	least, cerr := c.system().reduceMin(key)
	if cerr != nil {
		return errors.Join(err, cerr)
	}
	if least == math.MaxInt64 {
		return nil
	}
	failed := []int64{0}
	if err != nil {
		failed[0] = 1
	}
	if cerr := c.AllreduceInt64(failed, Sum); cerr != nil {
		return errors.Join(err, cerr)
	}
	root := int(least & math.MaxUint32)
	var b []byte
	if root == c.Rank() {
		b = own.encode(sentinels)
	}
	b, cerr = c.Bcast(b, root)
	if cerr != nil {
		return errors.Join(err, cerr)
	}
	e, derr := decodeAgreed(b, sentinels)
	if derr != nil {
		return errors.Join(err, derr)
	}
	e.Failed, e.Size = int(failed[0]), c.Size()
	return e
}

// Keeping is a communicator whose Agree keeps sentinels, as AgreeOn does.
type Keeping struct {
	Comm
	Sentinels []error
	Coded     func(err error) error // adds an exit code to an error; nil: errors have one
}

func (k Keeping) Agree(err error) error {
	if k.Coded != nil {
		err = k.Coded(err)
	}
	return AgreeOn(k.Comm, err, k.Sentinels...)
}

// maxText bounds the text of an agreed error, in bytes.
const maxText = 16 << 10

// describe converts an error to what is transferred.
func describe(rank int, err error, sentinels []error) *AgreedError {
	if err == nil {
		return nil
	}
	e := &AgreedError{Rank: rank, Text: err.Error(), class: classOf(err), code: 1}
	if was, ok := errors.AsType[*AgreedError](err); ok && error(was) == err {
		e.Rank, e.Text = was.Rank, was.Text // agreed before: keep the rank that it came from
	}
	if coded, ok := errors.AsType[Coded](err); ok && coded.Code() > 0 {
		e.code = coded.Code()
	}
	for _, s := range sentinels {
		if errors.Is(err, s) {
			e.sentinel = s
			break
		}
	}
	if len(e.Text) > maxText {
		e.Text = strings.ToValidUTF8(e.Text[:maxText], "") + "..."
	}
	return e
}

// encode writes four little-endian int32 (rank, class, code, index of the sentinel or -1) and the text.
func (e *AgreedError) encode(sentinels []error) []byte {
	index := -1
	for i, s := range sentinels {
		if e.sentinel == s {
			index = i
			break
		}
	}
	var b []byte
	for _, v := range [...]int{e.Rank, int(e.class), e.code, index} {
		b = binary.LittleEndian.AppendUint32(b, uint32(int32(v)))
	}
	return append(b, e.Text...)
}

func decodeAgreed(b []byte, sentinels []error) (*AgreedError, error) {
	if len(b) < 16 {
		return nil, errf("agree", ErrInternal, "message of %d bytes is too short", len(b))
	}
	var v [4]int
	for i := range v {
		v[i] = int(int32(binary.LittleEndian.Uint32(b[4*i:])))
	}
	e := &AgreedError{Rank: v[0], class: Class(v[1]), code: v[2], Text: string(b[16:])}
	if i := v[3]; i >= 0 && i < len(sentinels) {
		e.sentinel = sentinels[i]
	}
	return e, nil
}
