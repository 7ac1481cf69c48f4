import CoherenceCore
import CoherenceStrategies
import Testing
import TestSupport

/// A strategy of an application's own: the view is refreshed by a second context that follows the background contexts,
/// with public members only.
private final class FollowingStrategy: ContextStrategy, ContextStrategyType {
  let viewContext: ManagedObjectContext

  required init(
    persistentStoreCoordinator: PersistentStoreCoordinator, errorHandler: @escaping AsyncErrorHandlerBlock
  ) {
    viewContext = ManagedObjectContext(concurrencyType: .mainQueue, coordinator: persistentStoreCoordinator)
    super.init(persistentStoreCoordinator: persistentStoreCoordinator, errorHandler: errorHandler)
  }

  func newBackgroundContext<T: BackgroundContext>() -> T {
    let context = T(concurrencyType: .privateQueue)
    context.persistentStoreCoordinator = persistentStoreCoordinator
    context.mergePolicy = .storeTrumps
    viewContext.follow(context)
    return context
  }
}

/// A strategy that does not inherit from the framework's base.
private struct PlainStrategy: ContextStrategyType {
  let viewContext: ManagedObjectContext
  private let coordinator: PersistentStoreCoordinator

  init(persistentStoreCoordinator: PersistentStoreCoordinator, errorHandler: @escaping AsyncErrorHandlerBlock) {
    coordinator = persistentStoreCoordinator
    viewContext = ManagedObjectContext(concurrencyType: .mainQueue, coordinator: persistentStoreCoordinator)
  }

  func newBackgroundContext<T: BackgroundContext>() -> T {
    let context = T(concurrencyType: .privateQueue)
    context.parent = viewContext
    context.savesPastParent = true
    return context
  }
}

@MainActor
@Suite("Strategies that users make")
struct UserMadeStrategyTests {
  @Test func `a strategy that inherits from the base class connects its contexts`() throws {
    try check(FollowingStrategy.self)
  }

  @Test func `a strategy without the base class connects its contexts`() throws {
    try check(PlainStrategy.self)
  }

  private func check<Strategy: ContextStrategyType>(_ strategy: Strategy.Type) throws {
    let directory = TemporaryDirectory()
    let container = GenericPersistentContainer<Strategy>(
      name: "Own", managedObjectModel: ContainerModels.users, storeLocation: directory.url)
    try container.attachPersistentStore(for: Backend.sqlite.configuration(named: "own"))
    let background = container.newBackgroundContext()
    let id = try background.performAndWait {
      let user = try ContainerUser.insert(named: "ada", into: background)
      try background.save()
      return user.objectID
    }
    #expect(try container.viewContext.user(id).userName == "ada")
    try background.performAndWait {
      try background.user(id).userName = "grace"
      try background.save()
    }
    #expect(try container.viewContext.user(id).userName == "grace")
  }
}
