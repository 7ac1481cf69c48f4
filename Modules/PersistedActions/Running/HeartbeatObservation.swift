/// Claims or records of other workers, each with the time for which this worker has observed its present heartbeat
/// number.
///
/// The times come from this worker's clock for intervals. Changes of a computer's date therefore never make a living
/// worker seem stopped.
struct HeartbeatObservation<Subject: Hashable> {
  private var silences: [Subject: Duration] = [:]
  /// The time of the last read.
  private var lastRead: Duration?

  var isEmpty: Bool { silences.isEmpty }

  /// Adds a read of the subjects. A new heartbeat number makes another subject.
  ///
  /// - Returns: The subjects whose workers have sent no heartbeat for a whole lease.
  mutating func note(_ subjects: Set<Subject>, at time: Duration, leaseLength: Duration) -> Set<Subject> {
    let interval = lastRead.map { time - $0 } ?? .zero
    lastRead = time
    // A worker that did not read for more than a lease was suspended, or its store has failed. The other workers could
    // send no heartbeat then either, and need time for the next one.
    let counted = interval > leaseLength ? leaseLength / 2 : interval
    silences = Dictionary(uniqueKeysWithValues: subjects.map { ($0, silences[$0].map { $0 + counted } ?? .zero) })
    return subjects.filter { subject in silences[subject].map { $0 >= leaseLength } ?? false }
  }

  mutating func remove(_ subjects: Set<Subject>) {
    for subject in subjects { silences[subject] = nil }
  }
}
