/// The changes of a save that a ``SaveParticipant`` observes: inserts, updates, then deletes.
///
/// An element is made when it is read, at a constant cost, from the rows of the save.
public struct RecordedChanges: RandomAccessCollection {
  private let changes: [RecordChange]
  private let permanentIDs: PermanentIDs
  private let comparesValues: Bool
  // Retains the records of the changes.
  private let keeper: RecordKeeper

  /// - Parameter comparesValues: Whether an update may write values that the record has already.
  init(
    of unit: UnitOfWork, seenBy observer: EntityObservers.Observer, _ permanentIDs: PermanentIDs, comparesValues: Bool
  ) {
    keeper = unit.keeper
    self.permanentIDs = permanentIDs
    self.comparesValues = comparesValues
    let all = unit.changes
    // Most saves with observed changes have no others, and share the array.
    let isAll = all.allSatisfy { observer.observes($0.entity) && $0.isRecorded(comparing: comparesValues) }
    changes =
      isAll ? all : all.filter { observer.observes($0.entity) && $0.isRecorded(comparing: comparesValues) }
  }

  public var startIndex: Int { 0 }
  public var endIndex: Int { changes.count }

  /// The change at an index from zero on.
  public subscript(position: Int) -> RecordedChange {
    RecordedChange(changes[position], permanentIDs, comparesValues: comparesValues)
  }
}
