# Against the program, on the results of tests/scripts/support_results.sh: tests/scripts/r.test.sh says where both are.
folder <- Sys.getenv("TREFOIL_RESULTS")
program <- Sys.getenv("TREFOIL")
if (folder == "") exit_file("TREFOIL_RESULTS is not set")

run <- function(...) system2(program, shQuote(c(...)), stdout = TRUE)
tree <- trefoil_open(file.path(folder, "tree"))
copula <- trefoil_open(file.path(folder, "copula"))
expect_equal(c(tree$kind, copula$kind), c("tree", "copula"))
expect_equal(tree$columns, c("age", "sex", "ward", "bmi"))
expect_stdout(print(tree), "a tree of 4 columns")

# answers
sql <- paste("SELECT sex, AVG(age), MODE(ward), MAX(bmi) FROM t GROUP BY sex;",
             "SELECT COUNT(*) FROM t WHERE bmi < 22.5 GROUP BY ward, bmi; SELECT SUM(age) FROM t WHERE age > 99")
for (level in list(0.95, 0.8, NULL)) {
    options <- if (is.null(level)) "--quick" else c("--level", level)
    theirs <- jsonlite::fromJSON(run("query", tree$path, "--json", options, sql), simplifyVector = FALSE)
    ours <- query(tree, sql, level)
    expect_equal(length(ours), length(theirs))
    for (i in seq_along(ours)) {
        lines <- theirs[[i]]$lines
        expect_equal(nrow(ours[[i]]), length(lines))
        expect_equal(attr(ours[[i]], "together"), theirs[[i]]$together)
        expect_equal(ours[[i]]$rows, vapply(lines, function(l) l$rows, 0))
    }
    values <- lapply(theirs[[1]]$lines, function(l) l$answers)
    expect_equal(ours[[1]][["AVG(age)"]], vapply(values, function(v) v[[1]]$answer, 0))
    expect_equal(ours[[1]][["MODE(ward)"]], vapply(values, function(v) v[[2]]$answer, ""))
    if (!is.null(level)) {
        expect_equal(ours[[1]][["AVG(age) low"]], vapply(values, function(v) v[[1]]$low, 0))
        expect_equal(ours[[1]][["AVG(age) high"]], vapply(values, function(v) v[[1]]$high, 0))
    }
}
expect_equal(as.character(query(tree, "SELECT COUNT(*) FROM t GROUP BY sex", NULL)$sex), c("m", "f"))
expect_true(all(is.na(query(tree, "SELECT AVG(age) FROM t WHERE age > 99", NULL)[["AVG(age)"]])))
groups <- query(tree, "SELECT COUNT(*) FROM t GROUP BY bmi", NULL)$bmi
expect_equal(levels(groups), c("[10,18.5)", "[18.5,25)", "[25,30)", "[30,60]"))

# rows
for (m in list(tree, copula)) {
    csv <- tempfile()
    run("synth", file.path(m$path, "model"), "--rows", "300", "--seed", "5", "--out", csv)
    theirs <- read.csv(csv, na.strings = c("?", ""))
    ours <- synth(m, 300, seed = 5)
    expect_equal(dim(ours), c(300L, 4L))
    expect_equal(levels(ours$ward), c("surgery", "cardiology", "lung"))
    for (name in c("age", "bmi")) expect_equal(ours[[name]], theirs[[name]])
    for (name in c("sex", "ward")) expect_equal(as.character(ours[[name]]), theirs[[name]])
}
expect_equal(nrow(synth(tree)), round(tree$total))
expect_equal(synth(tree, 10), synth(tree, 10))
expect_false(identical(synth(tree, 100, sampling = "independent"), synth(tree, 100)))

# whole numbers beyond R's integers
wide <- trefoil_open(file.path(folder, "wide"))
expect_equal(query(wide, "SELECT COUNT(*) FROM t GROUP BY number", NULL)$number, 5e9 + 0:3)
expect_true(all(synth(wide, 50)$number %in% (5e9 + 0:3)))
csv <- tempfile()
run("synth", file.path(wide$path, "model"), "--rows", "50", "--seed", "5", "--out", csv)
expect_equal(synth(wide, 50, seed = 5)$number, read.csv(csv)$number)
expect_equal(marginal(wide, "number")$number, 5e9 + 0:3)

# dates
dates <- trefoil_open(file.path(folder, "dates"))
csv <- tempfile()
run("synth", file.path(dates$path, "model"), "--rows", "300", "--seed", "5", "--out", csv)
theirs <- read.csv(csv, na.strings = "")
ours <- synth(dates, 300, seed = 5)
expect_inherits(ours$born, "Date")
expect_inherits(ours$seen, "POSIXct")
expect_equal(format(ours$born), ifelse(is.na(theirs$born), NA, theirs$born))
expect_equal(format(ours$seen, "%Y-%m-%d %H:%M"), theirs$seen)
groups <- query(dates, "SELECT MIN(seen), COUNT(*) FROM t GROUP BY born", NULL)
expect_equal(levels(groups$born)[c(1, 20)], c("[2000-01-01,2001-01-01)", "[2019-01-01,2019-12-31]"))
expect_inherits(groups[["MIN(seen)"]], "POSIXct")
years <- query(dates, "SELECT COUNT(*) FROM t GROUP BY YEAR(born)", NULL)
expect_equal(years[["YEAR(born)"]], c(2000:2019, NA))

# marginals and measurements
counts <- marginal(tree, "ward", "sex")
expect_equal(dim(counts), c(8L, 3L))
expect_equal(sum(counts$count), tree$total)
f <- query(tree, "SELECT COUNT(*) FROM t WHERE sex = 'f' AND ward = 'lung'", NULL)$rows
expect_equal(subset(counts, sex == "f" & ward == "lung")$count, f)
m <- measurements(tree)
said <- jsonlite::fromJSON(file.path(folder, "tree", "measurements.json"), simplifyVector = FALSE)
expect_equal(m$epsilon, 20)
expect_equal(length(m$measurements), length(said$measurements))

# refusals: R's errors have the library's words, and the model goes on
expect_error(trefoil_open("nowhere"), "nowhere")
expect_error(query(tree, "SELECT AVG(agee) FROM t"), "did you mean \"age\"")
expect_error(query(tree, "SELECT COUNT(*) FROM t", 0.3), "a level is")
expect_error(marginal(tree, "sex", "sex"), "named twice")
expect_error(marginal(tree), "one to")
expect_error(synth(tree, 1e12), "too many")
expect_error(synth(tree, 1.5), "whole number")
expect_error(query(list(), "x"))
expect_equal(nrow(query(tree, "SELECT COUNT(*) FROM t")), 1L)

# an owner of every result: nothing is freed twice, or kept
for (i in 1:50) { synth(tree, 50); try(marginal(tree, "none"), silent = TRUE); if (i %% 10 == 0) gc() }
rm(copula); invisible(gc())
