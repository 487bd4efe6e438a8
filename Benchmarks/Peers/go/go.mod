module errand.example/benchmarks

go 1.19
