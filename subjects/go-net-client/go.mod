module client

go 1.19
