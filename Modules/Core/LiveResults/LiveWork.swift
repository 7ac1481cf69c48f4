/// The amount of work that the live results of a context have done, for tests, and the records that entered results.
package struct LiveWork {
  /// The number of evaluated records: by a single evaluation of predicate and order, or by a run of a request.
  package internal(set) var evaluatedRows = 0
  /// The number of runs of requests.
  package internal(set) var runs = 0
  /// The records that entered a result after the first run.
  var entered: [RecordState] = []
}
