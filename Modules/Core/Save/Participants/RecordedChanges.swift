/// The changes of a save that a ``SaveParticipant`` observes: inserts, updates, then deletes.
///
/// Each access makes its element from the rows of the save, at a cost that grows with the changed properties and
/// members of the record, and not with the number of changes.
public struct RecordedChanges: RandomAccessCollection {
  private let changes: [RecordChange]
  private let permanentIDs: PermanentIDs
  private let comparesValues: Bool
  // Retains the records of the changes.
  private let keeper: RecordKeeper

  /// - Parameter comparesValues: Whether updates without a different value are left out, as batch requests and saves
  ///   past a parent need.
  init(
    of unit: UnitOfWork, seenBy observer: EntityObservers.Observer, _ permanentIDs: PermanentIDs, comparesValues: Bool
  ) {
    keeper = unit.keeper
    self.permanentIDs = permanentIDs
    self.comparesValues = comparesValues
    let all = unit.changes
    // Most saves with observed changes have only observed changes, and share the array.
    let observesAll = all.allSatisfy { observer.observes($0.entity) && $0.isRecorded(comparing: comparesValues) }
    changes =
      observesAll ? all : all.filter { observer.observes($0.entity) && $0.isRecorded(comparing: comparesValues) }
  }

  /// Zero.
  public var startIndex: Int { 0 }
  /// The number of changes.
  public var endIndex: Int { changes.count }

  /// The change at an index from zero on.
  public subscript(position: Int) -> RecordedChange {
    RecordedChange(changes[position], permanentIDs, comparesValues: comparesValues)
  }
}
