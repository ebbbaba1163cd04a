package main

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/coppice-hpc/coppice/bench/browser"
)

var (
	pictureOf = regexp.MustCompile(`^<!-- picture ([0-9]+)x([0-9]+) (serve )?([^ #]+)(#[^ ]*)?( dark)? -->$`)
	imageAt   = regexp.MustCompile(`^!\[[^\]]+\]\(([-a-z0-9/]+\.png)\)$`)
)

// mostBytes bounds a picture.
const mostBytes = 150_000

// picture makes the image that a comment describes.
func (s *session) picture(comment, line string) error {
	what, where := pictureOf.FindStringSubmatch(comment), imageAt.FindStringSubmatch(line)
	if what == nil || where == nil {
		return fmt.Errorf("no picture: %s %s", comment, line)
	}
	fmt.Fprintln(os.Stderr, comment)
	var width, height int
	if _, err := fmt.Sscan(what[1]+" "+what[2], &width, &height); err != nil {
		return err
	}
	file, err := filepath.Abs(filepath.Join(s.folder, what[4]))
	if err != nil {
		return err
	}
	address := "file://" + file
	if what[3] != "" {
		var stop func()
		if address, stop, err = s.serve(what[4]); err != nil {
			return err
		}
		defer stop()
	}
	b, err := shot(address+what[5], width, height, what[6] != "", what[3] != "")
	if err != nil {
		return err
	}
	if len(b) > mostBytes {
		return fmt.Errorf("%s has %d bytes, more than %d: make it smaller", where[1], len(b), mostBytes)
	}
	return os.WriteFile(filepath.Join(s.images, where[1]), b, 0o666)
}

// serve starts the server of a run and returns its address.
func (s *session) serve(run string) (address string, stop func(), err error) {
	c := exec.Command("coppice", "serve", run)
	c.Dir = s.folder
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		return "", nil, err
	}
	stop = func() {
		_ = c.Process.Kill()
		_ = c.Wait() // it was killed
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if i := strings.Index(line, "http://"); err == nil && i >= 0 {
		return strings.TrimSpace(line[i:]), stop, nil
	}
	stop()
	return "", nil, errors.Join(fmt.Errorf("coppice serve printed no address: %q", line), err)
}

// shot is a picture of a page.
func shot(address string, width, height int, dark, viewer bool) ([]byte, error) {
	b, err := browser.Start(width, height)
	if err != nil {
		return nil, err
	}
	defer b.Close()
	theme := "light"
	if dark {
		theme = "dark"
	}
	if err := b.Media("prefers-color-scheme", theme); err != nil {
		return nil, err
	}
	if err := b.Open(address); err != nil {
		return nil, err
	}
	if viewer {
		if err := b.Wait(browser.Ready); err != nil {
			return nil, err
		}
	}
	picture, err := b.Shot()
	if err == nil {
		if list := b.Problems(); len(list) > 0 {
			err = fmt.Errorf("%s: %s", address, strings.Join(list, "; "))
		}
	}
	if err != nil {
		return nil, err
	}
	return smaller(picture)
}

// smaller writes a picture with the 256 colours that it has most of; others become the nearest of these.
func smaller(b []byte) ([]byte, error) {
	in, err := png.Decode(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	size := in.Bounds()
	full := image.NewRGBA(size)
	draw.Draw(full, size, in, size.Min, draw.Src)
	count := map[color.RGBA]int{}
	for i := 0; i < len(full.Pix); i += 4 {
		count[color.RGBA{full.Pix[i], full.Pix[i+1], full.Pix[i+2], 255}]++
	}
	value := func(c color.RGBA) int { return int(c.R)<<16 | int(c.G)<<8 | int(c.B) }
	list := slices.SortedFunc(maps.Keys(count), func(x, y color.RGBA) int {
		return cmp.Or(cmp.Compare(count[y], count[x]), cmp.Compare(value(x), value(y)))
	})
	var palette color.Palette
	for _, c := range list[:min(len(list), 256)] {
		palette = append(palette, c)
	}
	index := map[color.RGBA]uint8{}
	for _, c := range list {
		index[c] = uint8(palette.Index(c))
	}
	out := image.NewPaletted(size, palette)
	for i := range out.Pix {
		out.Pix[i] = index[color.RGBA{full.Pix[4*i], full.Pix[4*i+1], full.Pix[4*i+2], 255}]
	}
	var w bytes.Buffer
	err = (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&w, out)
	return w.Bytes(), err
}
