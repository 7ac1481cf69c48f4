import Coherence
import Testing

/// A strategy that only conforms to the protocol: one context for the view, which reads saved changes, and background
/// contexts, whose changes replace the view's in a conflict.
private final class NewsroomStrategy: ContextStrategyType {
  let viewContext: ManagedObjectContext
  private let coordinator: PersistentStoreCoordinator

  init(persistentStoreCoordinator: PersistentStoreCoordinator, errorHandler: @escaping AsyncErrorHandlerBlock) {
    coordinator = persistentStoreCoordinator
    viewContext = ManagedObjectContext(concurrencyType: .mainQueue, coordinator: persistentStoreCoordinator)
    viewContext.mergePolicy = .storeTrumps
  }

  func newBackgroundContext<T: BackgroundContext>() -> T {
    let context = T(concurrencyType: .privateQueue)
    context.persistentStoreCoordinator = coordinator
    context.mergePolicy = .objectTrumps
    viewContext.follow(context)
    return context
  }
}

/// A strategy that inherits from the framework's base class. Its background contexts are children of the view.
private final class DraftsStrategy: ContextStrategy, ContextStrategyType {
  let viewContext: ManagedObjectContext

  required init(
    persistentStoreCoordinator: PersistentStoreCoordinator, errorHandler: @escaping AsyncErrorHandlerBlock
  ) {
    viewContext = ManagedObjectContext(concurrencyType: .mainQueue, coordinator: persistentStoreCoordinator)
    super.init(persistentStoreCoordinator: persistentStoreCoordinator, errorHandler: errorHandler)
  }

  func newBackgroundContext<T: BackgroundContext>() -> T {
    let context = T(concurrencyType: .privateQueue)
    context.parent = viewContext
    context.savesPastParent = true
    return context
  }
}

/// A context class of an application.
private final class ImportContext: BackgroundContext, @unchecked Sendable {
  // Sendable: like the base class, to which this class adds nothing.
}

@MainActor
@Suite("Strategies of clients")
struct ClientStrategyTests {
  @Test func `a strategy that only conforms to the protocol works`() async throws {
    try await check(NewsroomStrategy.self)
  }

  @Test func `a strategy that inherits from the base works`() async throws { try await check(DraftsStrategy.self) }

  @Test func `a container makes background contexts of a client's class`() throws {
    let stack = try StackOf<NewsroomStrategy>()
    defer { stack.remove() }
    let context = stack.container.newGenericBackgroundContext(ImportContext.self)
    #expect(context.persistentStoreCoordinator === stack.container.persistentStoreCoordinator)
  }

  /// A background save becomes visible in the view, and is stored for the next container.
  private func check<Strategy: ContextStrategyType>(_ strategy: Strategy.Type) async throws {
    let stack = try StackOf<Strategy>()
    defer { stack.remove() }
    try stack.container.attachPersistentStore(for: StoreConfiguration(type: .sqlite))
    let id = try await stack.container.performBackgroundTask { context in
      let note = try Note(context: context)
      note.text = "draft"
      try context.save()
      return note.objectID
    }
    let view = stack.container.viewContext
    let note = try #require(try view.existingObject(with: id) as? Note)
    #expect(note.text == "draft")
    try await stack.container.performBackgroundTask { context in
      try context.fetch(FetchRequest(Note.self))[0].text = "final"
      try context.save()
    }
    #expect(try view.fetch(FetchRequest(Note.self)).map(\.text) == ["final"])
    #expect(note.text == "final")
  }
}
