package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
)

// serve reads the body of each request to its end, discards it, and responds with the number of bytes. It prints its URL, and ends with its
// standard input.
//
// nginx can't do this: it writes a large body to a file, or passes it on, or responds before it has read it.
func serve() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check(err)
	fmt.Printf("http://%s\n", listener.Addr())
	go func() {
		check(http.Serve(listener, http.HandlerFunc(func(response http.ResponseWriter, request *http.Request) {
			buffer := make([]byte, 256*1024)
			var total int64
			for {
				n, err := request.Body.Read(buffer)
				total += int64(n)
				if err == io.EOF {
					break
				}
				if err != nil {
					return
				}
			}
			fmt.Fprint(response, total)
		})))
	}()
	_, _ = io.Copy(io.Discard, os.Stdin)
}
