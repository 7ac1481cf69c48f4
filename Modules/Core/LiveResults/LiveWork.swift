/// The amount of work that the live results of a context have done, for tests.
package struct LiveWork {
  /// The number of evaluations of single records, plus the number of records in the results of all runs.
  package internal(set) var evaluatedRows = 0
  /// The number of runs of requests.
  package internal(set) var runs = 0
}
