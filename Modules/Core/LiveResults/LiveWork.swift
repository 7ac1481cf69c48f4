/// The amount of work that the live results of a context have done, for tests, and the records that entered results.
package struct LiveWork {
  /// The number of records whose predicate or order was evaluated, or that a run of a request returned.
  package internal(set) var evaluatedRows = 0
  /// The number of times that requests were run.
  package internal(set) var runs = 0
  /// The records that entered a result after the first run.
  var entered: [RecordState] = []
}
