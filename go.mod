module drover

go 1.26
