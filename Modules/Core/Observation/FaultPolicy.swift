/// The treatment of faults that accessors load one by one, each with a statement of its own.
public enum FaultPolicy: Sendable {
  /// Faults are loaded without a report.
  case load
  /// The closure receives the faults of one entity, or of one relationship, when a unit of work loads more of them one
  /// by one than the limit: once for each entity and relationship in a unit. The faults are loaded all the same. The
  /// closure is called in the context, and must not use it. The ``RepeatedFaults/location`` and the description of a
  /// report are expensive: the closure passes the report to another thread, which reads them.
  case report(after: Int, @Sendable (RepeatedFaults) -> Void)
}
