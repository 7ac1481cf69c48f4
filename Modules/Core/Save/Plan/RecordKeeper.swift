/// Retains the records of a unit of work, so that ``RecordChange`` may refer to them without counting references.
///
/// The lifetime of those references is proven here:
/// - A change is made of a record that the keeper of its unit retains: the gathered records are passed to `init`, a record
///   made later is passed to ``retain(_:)``, and a resolved change takes the record of a change of the same unit.
/// - The keeper releases nothing before it is deallocated itself.
/// - A ``UnitOfWork`` retains its keeper. Functions that pass over the changes of a unit have the unit as a parameter or
///   in a property, which lives as long as the call.
final class RecordKeeper {
  /// The records as they were gathered: the array of the context, not a copy of it.
  private let gathered: [PendingRecord]
  /// The records made since then: members that get another position because a list was merged, and records whose
  /// one-to-one reference changes because of a join or a conflict.
  private var added: [PendingRecord] = []

  init(_ gathered: [PendingRecord]) { self.gathered = gathered }

  /// Retains one more record.
  func retain(_ record: PendingRecord) { added.append(record) }
}
