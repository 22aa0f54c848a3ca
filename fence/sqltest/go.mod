module github.com/zkrecipes/zkrecipes/fence/sqltest

go 1.26.0

require (
	github.com/jackc/pgx/v5 v5.13.0
	github.com/lib/pq v1.12.3
	github.com/stretchr/testify v1.12.1
	github.com/zkrecipes/zkrecipes v0.1.0
	modernc.org/sqlite v1.62.0
)
