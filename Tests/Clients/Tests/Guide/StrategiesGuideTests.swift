import Coherence
import Testing

/// One context for the view, which reads saved changes, and background contexts whose changes win over the stores'.
final class NewsroomStrategy: ContextStrategyType {
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

/// Background contexts are children of the view. Their saves reach the stores without the view's own edits.
final class DraftsStrategy: ContextStrategy, ContextStrategyType {
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

/// The view of the first window, with the view of the second one.
final class WindowViews: ManagedObjectContext, @unchecked Sendable {
  // Sendable: the class adds a constant, and a context is Sendable.
  let second = ManagedObjectContext(concurrencyType: .mainQueue)

  required init(concurrencyType: ConcurrencyType) {
    super.init(concurrencyType: concurrencyType)
    follow(second)
    second.follow(self)
  }
}

final class TwoWindowsStrategy: ContextStrategyType {
  let viewContext: ManagedObjectContext
  private let views = WindowViews(concurrencyType: .mainQueue)
  private let coordinator: PersistentStoreCoordinator

  init(persistentStoreCoordinator: PersistentStoreCoordinator, errorHandler: @escaping AsyncErrorHandlerBlock) {
    coordinator = persistentStoreCoordinator
    viewContext = views
    views.persistentStoreCoordinator = coordinator
    views.second.persistentStoreCoordinator = coordinator
  }

  func newBackgroundContext<T: BackgroundContext>() -> T {
    let context = T(concurrencyType: .privateQueue)
    context.persistentStoreCoordinator = coordinator
    views.follow(context)
    views.second.follow(context)
    return context
  }
}

extension GenericPersistentContainer<TwoWindowsStrategy> {
  /// The view of the second window.
  @MainActor var secondContext: ManagedObjectContext? { (mainContext as? WindowViews)?.second }
}

@Suite("The articles about strategies")
struct StrategiesGuideTests {
  @Test func `a container takes its strategy as a parameter of its type`() throws {
    let model = try Catalogue.model()
    let container = GenericPersistentContainer<ContextStrategy.Direct>(name: "Catalogue", managedObjectModel: model)
    #expect(container.viewContext.concurrencyType == .mainQueue)
  }

  @Test func `a container takes a custom strategy`() throws {
    let model = try Catalogue.model()
    let container = GenericPersistentContainer<NewsroomStrategy>(name: "Newsroom", managedObjectModel: model)
    try container.attachPersistentStore(for: StoreConfiguration(type: .inMemory))
    #expect(container.persistentStoreCoordinator.persistentStores.count == 1)
    #expect(container.viewContext.concurrencyType == .mainQueue)
  }

  @MainActor @Test func `the view of a custom strategy sees a background save`() async throws {
    try await check(NewsroomStrategy.self)
    try await check(DraftsStrategy.self)
    try await check(TwoWindowsStrategy.self)
  }

  @MainActor @Test
  func `a view of a custom strategy sees a save of the second view, and the second view a background save`()
    async throws
  {
    let container = GenericPersistentContainer<TwoWindowsStrategy>(
      name: "Catalogue", managedObjectModel: try Catalogue.model())
    try container.attachPersistentStore(for: StoreConfiguration(type: .inMemory))
    let second = try #require(container.secondContext)
    try await container.performBackgroundTask { context in
      try Album(context: context).title = "Silk & Soul"
      try context.save()
    }
    let album = try #require(try second.fetchFirst(FetchRequest(Album.self)))
    album.title = "Pastel Blues"
    try second.save()
    #expect(try container.mainContext.fetch(FetchRequest(Album.self)).map(\.title) == ["Pastel Blues"])
  }

  @MainActor private func check<Strategy: ContextStrategyType>(_ strategy: Strategy.Type) async throws {
    let container = GenericPersistentContainer<Strategy>(name: "Catalogue", managedObjectModel: try Catalogue.model())
    defer { withExtendedLifetime(container) {} }
    try container.attachPersistentStore(for: StoreConfiguration(type: .inMemory))
    let view = container.viewContext
    try await container.performBackgroundTask { context in
      try Album(context: context).title = "Silk & Soul"
      try context.save()
    }
    #expect(try view.fetch(FetchRequest(Album.self)).map(\.title) == ["Silk & Soul"])
  }

  @MainActor @Test func `an independent view sees a background save after a refresh`() async throws {
    let container = GenericPersistentContainer<ContextStrategy.DirectIndependent>(
      name: "Catalogue", managedObjectModel: try Catalogue.model())
    defer { withExtendedLifetime(container) {} }
    try container.attachPersistentStore(for: StoreConfiguration(type: .inMemory))
    let view = container.viewContext
    let id = try await container.performBackgroundTask { context in
      let album = try Album(context: context)
      album.title = "Draft"
      try context.save()
      return album.objectID
    }
    let album = try #require(try view.existingObject(with: id) as? Album)
    try await container.performBackgroundTask { context in
      (context.object(with: id) as? Album)?.title = "Silk & Soul"
      try context.save()
    }
    view.refreshAll()
    #expect(album.title == "Silk & Soul")
  }
}
