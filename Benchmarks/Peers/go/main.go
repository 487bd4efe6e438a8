// Go's net/http: the same measurements as ClientBenchmarks, called in the same way (`client KIND AT_ONCE WARMUP COUNT URL`), with the same line
// of figures. `client serve` is the server of the uploads: see server.go. The standard library alone.
package main

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime"
	"sort"
	"strconv"
	"sync"
	"syscall"
	"time"
)

type document struct {
	Page  int    `json:"page"`
	Total int    `json:"total"`
	Title string `json:"title"`
	Items []struct {
		ID       int      `json:"id"`
		Name     string   `json:"name"`
		IsActive bool     `json:"isActive"`
		Score    float64  `json:"score"`
		Tags     []string `json:"tags"`
	} `json:"items"`
}

type figures struct{ wall, user, system, allocations float64 }

// What some requests, made one after the other, have received, and how long each of them took.
type share struct {
	bytes     int64
	latencies []int64
}

func main() {
	if len(os.Args) == 2 && os.Args[1] == "serve" {
		serve()
		return
	}
	if len(os.Args) != 6 {
		fail(fmt.Errorf("usage: client KIND AT_ONCE WARMUP COUNT URL"))
	}
	kind, url := os.Args[1], os.Args[5]
	atOnce, warmup, count := number(os.Args[2]), number(os.Args[3]), number(os.Args[4])
	transport := &http.Transport{MaxIdleConnsPerHost: atOnce, MaxIdleConns: atOnce, DisableCompression: true}
	if authority := os.Getenv("BENCHMARK_CA"); authority != "" {
		text, err := os.ReadFile(authority)
		check(err)
		roots := x509.NewCertPool()
		roots.AppendCertsFromPEM(text)
		transport.TLSClientConfig = &tls.Config{RootCAs: roots}
		transport.ForceAttemptHTTP2 = os.Getenv("BENCHMARK_HTTP2") != ""
	}
	client := &http.Client{Transport: transport}

	run(client, kind, atOnce, warmup, url)
	before := now()
	all := run(client, kind, atOnce, count, url)
	after := now()
	n := float64(count)
	sort.Slice(all.latencies, func(i, j int) bool { return all.latencies[i] < all.latencies[j] })
	percentile := func(part int) int64 { return all.latencies[(len(all.latencies)*part+99)/100-1] }
	fmt.Printf("wall_ns=%f user_ns=%f system_ns=%f allocations=%f bytes=%f p50_ns=%d p99_ns=%d\n",
		(after.wall-before.wall)/n, (after.user-before.user)/n, (after.system-before.system)/n,
		(after.allocations-before.allocations)/n, float64(all.bytes)/n, percentile(50), percentile(99))
}

func run(client *http.Client, kind string, atOnce, count int, url string) share {
	workers := atOnce
	if workers > count {
		workers = count
	}
	shares := make([]share, workers)
	var group sync.WaitGroup
	for worker := range shares {
		count := count/workers + more(worker < count%workers)
		group.Add(1)
		go func(worker int) {
			defer group.Done()
			// Not in `shares` itself, whose parts are on one cache line.
			mine := share{latencies: make([]int64, 0, count)}
			last := time.Now()
			for i := 0; i < count; i++ {
				mine.bytes += request(client, kind, url)
				now := time.Now()
				mine.latencies = append(mine.latencies, now.Sub(last).Nanoseconds())
				last = now
			}
			shares[worker] = mine
		}(worker)
	}
	group.Wait()
	var all share
	for _, one := range shares {
		all.bytes += one.bytes
		all.latencies = append(all.latencies, one.latencies...)
	}
	return all
}

func request(client *http.Client, kind string, url string) int64 {
	var response *http.Response
	var err error
	if kind == "upload" {
		response, err = upload(client, url)
	} else {
		response, err = client.Get(url)
	}
	check(err)
	defer response.Body.Close()
	if response.StatusCode != 200 {
		fail(fmt.Errorf("status %d", response.StatusCode))
	}
	if kind == "download" {
		var total int64
		buffer := make([]byte, 64*1024)
		for {
			n, err := response.Body.Read(buffer)
			total += int64(n)
			if err == io.EOF {
				return total
			}
			check(err)
		}
	}
	data, err := io.ReadAll(response.Body)
	check(err)
	switch kind {
	case "get":
		return int64(len(data))
	case "typed":
		var value document
		check(json.Unmarshal(data, &value))
		if value.Total != len(value.Items) || value.Total == 0 {
			fail(fmt.Errorf("%d items of %d", len(value.Items), value.Total))
		}
		return int64(value.Total)
	case "upload":
		return int64(number(string(data)))
	}
	fail(fmt.Errorf("no kind %s", kind))
	return 0
}

func upload(client *http.Client, url string) (*http.Response, error) {
	file, err := os.Open(os.Getenv("BENCHMARK_FILE"))
	check(err)
	information, err := file.Stat()
	check(err)
	request, err := http.NewRequest("PUT", url, file)
	check(err)
	request.ContentLength = information.Size()
	return client.Do(request)
}

var start = time.Now()

func now() figures {
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	var usage syscall.Rusage
	check(syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return figures{
		wall: float64(time.Since(start).Nanoseconds()), user: float64(usage.Utime.Nano()), system: float64(usage.Stime.Nano()),
		allocations: float64(memory.Mallocs),
	}
}

func number(text string) int {
	value, err := strconv.Atoi(text)
	check(err)
	return value
}

func more(condition bool) int {
	if condition {
		return 1
	}
	return 0
}

func check(err error) {
	if err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
