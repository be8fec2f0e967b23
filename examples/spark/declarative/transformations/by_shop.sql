-- What each shop sold, computed anew in every run.
CREATE MATERIALIZED VIEW sales_by_shop AS
SELECT key, count(*) AS sales, sum(amount) AS amount FROM sales GROUP BY key;
