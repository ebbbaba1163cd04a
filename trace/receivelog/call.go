package receivelog

func (r *Reader) readCall(b *body) error {
	c := &r.call
	*c = Call{Number: r.calls, Times: 1, Outputs: c.Outputs[:0]}
	number, err := b.varint()
	if err != nil {
		return err
	}
	var known bool
	if c.Function, known = r.Header.Functions[number]; !known {
		return corrupt("call %d of function %d, which the header does not name", r.calls, number)
	}
	if c.Code, err = b.zigzag(); err != nil {
		return err
	}
	if err := c.inputs(b); err != nil {
		return err
	}
	for b.more() {
		o, err := b.output()
		if err != nil {
			return err
		}
		c.Outputs = append(c.Outputs, o)
	}
	r.calls++
	r.started = true
	return nil
}

func (c *Call) inputs(b *body) (err error) {
	if c.Checked, err = b.byte(); err != nil {
		return err
	}
	if c.Checked >= 1<<7 {
		return corrupt("call %d: inputs %#x", c.Number, c.Checked)
	}
	for i := range c.Inputs {
		switch bit := byte(1) << i; {
		case c.Checked&bit == 0:
		case bit&(Bytes|Communicator|Requests) != 0:
			c.Inputs[i], err = b.plain()
		default:
			c.Inputs[i], err = b.zigzag()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// plain reads an unsigned number into the form that Values have: the library's counts are less than 2^63.
func (b *body) plain() (int64, error) {
	v, err := b.varint()
	if err == nil && v >= 1<<63 {
		err = corrupt("the number %d", v)
	}
	return int64(v), err
}

// forms are the numbers of the kinds of outputs that hold nothing else: v plain, z zig-zag.
var forms = [...]string{Int: "z", Comm: "vvvv", Object: "v", Request: "v", Status: "vzzzvv", Done: "vv", Real: ""}

func (b *body) output() (o Output, err error) {
	k, err := b.byte()
	if err != nil {
		return o, err
	}
	o.Kind = Kind(k)
	if o.Kind < Int || o.Kind > Real {
		return o, corrupt("an output of kind %d", k)
	}
	if o.Parameter, err = b.varint(); err != nil {
		return o, err
	}
	switch o.Kind {
	case Ints:
		return o, b.ints(&o)
	case Data:
		return o, b.payload(&o)
	case Text:
		o.Text, err = b.text()
		return o, err
	case Real:
		o.Real, err = b.real()
		return o, err
	}
	form := forms[o.Kind]
	o.Values = make([]int64, len(form))
	for i := range o.Values {
		if form[i] == 'z' {
			o.Values[i], err = b.zigzag()
		} else {
			o.Values[i], err = b.plain()
		}
		if err != nil {
			return o, err
		}
	}
	return o, nil
}

func (b *body) ints(o *Output) error {
	n, err := b.length() // a byte each, at least
	if err != nil {
		return err
	}
	for range n {
		v, err := b.zigzag()
		if err != nil {
			return err
		}
		o.Values = append(o.Values, v)
	}
	return nil
}

// payload reads where a payload is, and goes beyond it.
func (b *body) payload(o *Output) error {
	begin := b.offset
	n, err := b.varint()
	if err != nil {
		return err
	}
	where, err := b.varint()
	if err != nil {
		return err
	}
	o.Payload = Payload{n, where, where > 0}
	if where == 0 {
		o.Payload.Where = b.offset
		if n > b.end-b.offset {
			return corrupt("a payload of %d bytes in a record with %d left", n, b.end-b.offset)
		}
		return b.skip(n, nil)
	}
	if where > begin || n > begin-where {
		return corrupt("a payload of %d bytes at %d, after its use at %d", n, where, begin)
	}
	return nil
}

// ReadPayload reads a payload that a call of this reader named, into p from byte at on; the blocks were checked when the
// reader passed them.
func (r *Reader) ReadPayload(d Payload, p []byte, at uint64) error {
	if uint64(len(p)) > d.Bytes || at > d.Bytes-uint64(len(p)) {
		return corrupt("bytes %d to %d of a payload of %d", at, at+uint64(len(p)), d.Bytes)
	}
	for from := d.Where + at; len(p) > 0; {
		n := min(uint64(len(p)), roomBytes-from%roomBytes)
		if _, err := r.s.file.ReadAt(p[:n], int64(from/roomBytes*blockBytes+headBytes+from%roomBytes)); err != nil {
			return err
		}
		p, from = p[n:], from+n
	}
	return nil
}
