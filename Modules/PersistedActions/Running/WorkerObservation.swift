/// The other workers without an action, each with the time at which this worker first read its present number of
/// heartbeats.
///
/// A killed worker without an action leaves only its record in the store. No claim of the worker expires, so only this
/// observation finds the record for its deletion.
struct WorkerObservation {
  private var firstSeen: [ObservedWorker: Duration] = [:]

  /// Adds a read of the idle workers.
  ///
  /// - Returns: The workers without a heartbeat for a whole lease.
  mutating func note(_ workers: Set<ObservedWorker>, at time: Duration, leaseLength: Duration) -> Set<ObservedWorker> {
    firstSeen = Dictionary(uniqueKeysWithValues: workers.map { ($0, firstSeen[$0] ?? time) })
    return workers.filter { worker in firstSeen[worker].map { time - $0 >= leaseLength } ?? false }
  }
}
