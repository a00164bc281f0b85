trefoil_open <- function(path) {
    stopifnot(is.character(path), length(path) == 1L, !is.na(path))
    handle <- .Call(call_open, path.expand(path))
    about <- .Call(call_about, handle)
    structure(list(handle = handle, path = path, kind = about[[1]], total = about[[2]],
                   columns = about[[3]]), class = "trefoil")
}

print.trefoil <- function(x, ...) {
    cat(sprintf("a %s of %d columns, %.0f rows: %s\n", x$kind, length(x$columns), x$total, x$path))
    invisible(x)
}

query <- function(model, sql, level = 0.95) {
    stopifnot(inherits(model, "trefoil"), is.character(sql), length(sql) == 1L, !is.na(sql))
    level <- if (is.null(level)) 0 else as.numeric(level)
    if (length(level) != 1L || is.na(level) || (level != 0 && (level < 0.5 || level > 0.9999)))
        stop("a level is a number from 0.5 to 0.9999, or NULL for no intervals")
    answers <- .Call(call_query, model$handle, sql, level)
    if (length(answers) == 1L) answers[[1L]] else answers
}

synth <- function(model, rows = NULL, seed = 1, sampling = c("usual", "rounded", "independent")) {
    stopifnot(inherits(model, "trefoil"))
    sampling <- match(match.arg(sampling), c("usual", "rounded", "independent")) - 1L
    whole <- function(x, least, what) {
        if (!is.numeric(x) || length(x) != 1L || is.na(x) || x < least || x > 2^53 || x != floor(x))
            stop(what, " must be a whole number from ", least, " on", call. = FALSE)
        as.numeric(x)
    }
    rows <- if (is.null(rows)) 0 else whole(rows, 1, "rows")
    .Call(call_synth, model$handle, rows, whole(seed, 0, "seed"), sampling)
}

marginal <- function(model, ...) {
    names <- as.character(c(...))
    stopifnot(inherits(model, "trefoil"), !anyNA(names))
    .Call(call_marginal, model$handle, names)
}

measurements <- function(model) {
    stopifnot(inherits(model, "trefoil"))
    .Call(call_measurements, model$handle)
}
