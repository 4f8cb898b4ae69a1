module iris-gateway

go 1.26
