//go:build !unix

package view

import "net"

// listenPrivate makes a socket. Its directory decides who may open it.
func listenPrivate(path string) (net.Listener, error) { return net.Listen("unix", path) }
