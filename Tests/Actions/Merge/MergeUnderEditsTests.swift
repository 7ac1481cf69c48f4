import CoherenceActions
import CoherenceCore
import CoherenceStrategies
import Foundation
import Testing
import TestSupport

/// Depending on the strategy, the context of an action reads and saves beside the unsaved edits of the view or above them.
@MainActor
@Suite("Merges under unsaved edits of the view")
struct MergeUnderEditsTests {
  @Test(arguments: Backend.available)
  func `a merge saves the input's values, and the view keeps its unsaved edits`(backend: Backend) throws {
    try keepEdits(ContextStrategy.Direct.self, backend)
    try keepEdits(ContextStrategy.IndirectNested.self, backend)
    try keepEdits(ContextStrategy.Mixed.self, backend)
  }

  private func keepEdits<Strategy: ContextStrategyType>(_ strategy: Strategy.Type, _ backend: Backend) throws {
    let stage = try MergeStage<Strategy>(backend)
    try stage.merge([1: "old", 2: "old", 3: "old"])
    let shown = try stage.artists(in: stage.view)
    try shown[1]?.setValue("edited", for: "name")
    try shown[2]?.setValue("a note", for: "note")
    let draft = try stage.view.insertNewObject(forEntityName: "Artist")
    try draft.setValue("a draft", for: "name")

    let result = try stage.merge([1: "new", 2: "new", 4: "new"])
    #expect(result.counts == MergeResult.with(inserted: 1, updated: 2, deleted: 1), "\(strategy)")
    #expect(try stage.stored() == [1: "new", 2: "new", 4: "new"], "\(strategy)")
    stage.view.performAndWait {}
    #expect(try shown[1]?.value(for: "name", as: String.self) == "edited", "\(strategy)")
    #expect(try shown[2]?.value(for: "name", as: String.self) == "new", "\(strategy)")
    #expect(draft.isInserted && stage.view.hasChanges, "\(strategy)")

    try draft.setValue(Int32(9), for: "id")
    // The merge has changed a name that the view has edited, so only a policy may save the edit over the new name.
    #expect { try stage.view.save() } throws: { ErrorCode.versionConflict ~= $0 }
    #expect(try stage.stored() == [1: "new", 2: "new", 4: "new"], "\(strategy)")
    stage.view.mergePolicy = .objectTrumps
    try stage.view.save()
    #expect(try stage.stored() == [1: "edited", 2: "new", 4: "new", 9: "a draft"], "\(strategy)")
  }

  @Test(arguments: Backend.available)
  func `an unsaved deletion in the view is a conflict after a merge has changed the record`(
    backend: Backend
  ) throws {
    try meetDeleted(ContextStrategy.Direct.self, backend)
    try meetDeleted(ContextStrategy.Mixed.self, backend)
  }

  @Test(arguments: Backend.available)
  func `with localWins, unsaved edits of the view survive a merge and are saved without a conflict`(
    backend: Backend
  ) throws {
    try letEditsWin(ContextStrategy.Direct.self, backend)
    try letEditsWin(ContextStrategy.IndirectNested.self, backend)
    try letEditsWin(ContextStrategy.Mixed.self, backend)
  }

  private func letEditsWin<Strategy: ContextStrategyType>(_ strategy: Strategy.Type, _ backend: Backend) throws {
    let stage = try MergeStage<Strategy>(backend)
    try stage.merge([1: "old", 2: "old", 3: "old"])
    let shown = try stage.artists(in: stage.view)
    try shown[1]?.setValue("edited", for: "name")
    try shown[2]?.setValue("a note", for: "note")
    let result = try stage.merge(
      [1: "new", 2: "new", 3: "new"], options: MergeOptions(conflictResolution: .localWins))
    #expect(result.counts == MergeResult.with(updated: 2, skipped: 1), "\(strategy)")
    #expect(try stage.stored() == [1: "old", 2: "new", 3: "new"], "\(strategy)")
    try stage.view.save()
    #expect(try stage.stored() == [1: "edited", 2: "new", 3: "new"], "\(strategy)")
  }

  @Test(arguments: Backend.available)
  func `with localWins, a merge does not change a record with an unsaved deletion in the view`(
    backend: Backend
  ) throws {
    let stage = try MergeStage<ContextStrategy.Direct>(backend)
    try stage.merge([1: "old", 2: "old"])
    stage.view.delete(try #require(try stage.artists(in: stage.view)[1]))
    let result = try stage.merge([1: "new", 2: "new"], options: MergeOptions(conflictResolution: .localWins))
    #expect(result.counts == MergeResult.with(updated: 1, skipped: 1))
    try stage.view.save()
    #expect(try stage.stored() == [2: "new"])
  }

  private func meetDeleted<Strategy: ContextStrategyType>(_ strategy: Strategy.Type, _ backend: Backend) throws {
    let stage = try MergeStage<Strategy>(backend)
    try stage.merge([1: "old", 2: "old"])
    let shown = try stage.artists(in: stage.view)
    stage.view.delete(try #require(shown[1]))
    #expect(try stage.merge([1: "new", 2: "old"]).counts == MergeResult.with(updated: 1, unchanged: 1))
    #expect(try stage.stored() == [1: "new", 2: "old"])
    #expect { try stage.view.save() } throws: { ErrorCode.versionConflict ~= $0 }
    #expect(try stage.stored() == [1: "new", 2: "old"] && stage.view.hasChanges)
    stage.view.mergePolicy = .objectTrumps
    try stage.view.save()
    #expect(try stage.stored() == [2: "old"])
  }
}

/// A Connect with artists and the contexts of a strategy.
@MainActor
private struct MergeStage<Strategy: ContextStrategyType> {
  private let directory = TemporaryDirectory()
  private let connect: GenericConnect<Strategy>
  var view: ManagedObjectContext { connect.viewContext }

  init(_ backend: Backend) throws {
    connect = GenericConnect(name: "Edits", managedObjectModel: try MergeStack.library(), storeLocation: directory.url)
    try connect.attachPersistentStore(for: backend.newConfiguration())
    try connect.start()
  }

  @discardableResult
  func merge(_ names: [Int: String], options: MergeOptions = .replaceAll) throws -> MergeResult {
    let records = names.map { MergeRecord(["id": $0, "name": $1]) }
    return try connect.newActionContext().merge(
      records: records, for: connect.managedObjectModel.entity(named: "Artist"), options: options)
  }

  func artists(in context: ManagedObjectContext) throws -> [Int32: ManagedObject] {
    let artists = try context.fetch(FetchRequest<ManagedObject>(entityName: "Artist"))
    return Dictionary(
      uniqueKeysWithValues: try artists.map { (try $0.value(for: "id", as: Int32.self), $0) })
  }

  /// The stored names by identifier, read without the other contexts.
  func stored() throws -> [Int32: String] {
    let context = ManagedObjectContext(coordinator: connect.persistentStoreCoordinator)
    return try context.performAndWait {
      try artists(in: context).mapValues { try $0.value(for: "name", as: String.self) }
    }
  }
}
