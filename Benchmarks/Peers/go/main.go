// Go's net/http: the same measurements as ClientBenchmarks, called in the same way (`client CASE ROUNDS COUNT URL`), with the same line of
// figures. The standard library alone.
package main

import (
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

type figures struct{ wall, user, system, allocations, bytes float64 }

func main() {
	if len(os.Args) != 5 {
		fail(fmt.Errorf("usage: client CASE ROUNDS COUNT URL"))
	}
	rounds, err := strconv.Atoi(os.Args[2])
	check(err)
	count, err := strconv.Atoi(os.Args[3])
	check(err)
	measurement, url := os.Args[1], os.Args[4]
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16, DisableCompression: true}}

	run(client, measurement, max(count/5, 1), url)
	var all []figures
	for i := 0; i < rounds; i++ {
		before := now()
		bytes := run(client, measurement, count, url)
		after := now()
		n := float64(count)
		all = append(all, figures{
			(after.wall - before.wall) / n, (after.user - before.user) / n, (after.system - before.system) / n,
			(after.allocations - before.allocations) / n, float64(bytes) / n,
		})
	}
	median := func(figure func(figures) float64) float64 {
		var values []float64
		for _, f := range all {
			values = append(values, figure(f))
		}
		sort.Float64s(values)
		return values[len(values)/2]
	}
	fmt.Printf("wall_ns=%f user_ns=%f system_ns=%f allocations=%f bytes=%f\n",
		median(func(f figures) float64 { return f.wall }), median(func(f figures) float64 { return f.user }),
		median(func(f figures) float64 { return f.system }), median(func(f figures) float64 { return f.allocations }),
		median(func(f figures) float64 { return f.bytes }))
}

func run(client *http.Client, measurement string, count int, url string) int64 {
	workers := 1
	if measurement == "get16" {
		workers = 16
	}
	if workers > count {
		workers = count
	}
	totals := make([]int64, workers)
	var group sync.WaitGroup
	for worker := 0; worker < workers; worker++ {
		share := count / workers
		if worker < count%workers {
			share++
		}
		group.Add(1)
		go func(worker, share int) {
			defer group.Done()
			for i := 0; i < share; i++ {
				totals[worker] += get(client, measurement, url)
			}
		}(worker, share)
	}
	group.Wait()
	var total int64
	for _, bytes := range totals {
		total += bytes
	}
	return total
}

func get(client *http.Client, measurement string, url string) int64 {
	response, err := client.Get(url)
	check(err)
	defer response.Body.Close()
	if response.StatusCode != 200 {
		fail(fmt.Errorf("status %d", response.StatusCode))
	}
	switch measurement {
	case "get", "get16":
		data, err := io.ReadAll(response.Body)
		check(err)
		return int64(len(data))
	case "typed":
		data, err := io.ReadAll(response.Body)
		check(err)
		var value document
		check(json.Unmarshal(data, &value))
		if value.Total != len(value.Items) || value.Total == 0 {
			fail(fmt.Errorf("%d items of %d", len(value.Items), value.Total))
		}
		return int64(value.Total)
	case "download":
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
	fail(fmt.Errorf("no case %s", measurement))
	return 0
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

func max(a, b int) int {
	if a > b {
		return a
	}
	return b
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
