import CoherenceCore
import CoherenceStrategies
import Foundation
import Synchronization
import Testing
import TestSupport

@MainActor
@Suite("Context strategies")
struct ContextStrategyTests {
  @Test(arguments: StrategyKind.following, Backend.available)
  func `the view notifies of objects that a background context has inserted`(
    strategy: StrategyKind, backend: Backend
  ) throws {
    let stack = try Stack(strategy, on: backend)
    let background = stack.container.newBackgroundContext()
    let id = try background.performAndWait {
      let user = try ContainerUser.insert(named: "ada", into: background)
      try background.obtainPermanentIDs(for: [user])
      return user.objectID
    }
    #expect(!id.isTemporaryID)

    let told = Mutex<Set<ManagedObjectID>>([])
    let observer = NotificationCenter.default.addObserver(
      forName: .managedObjectContextObjectsDidChange, object: stack.view, queue: nil
    ) { notification in
      let inserted = (notification.userInfo?[ManagedObjectContext.NotificationKey.objects] as? ChangedObjects)?.inserted
      told.withLock { $0.formUnion((inserted ?? []).map(\.objectID)) }
    }
    defer { NotificationCenter.default.removeObserver(observer) }
    try background.performAndWait { try background.save() }
    stack.view.performAndWait {}
    #expect(told.withLock { $0.contains(id) })
  }

  @Test(arguments: StrategyKind.allCases, Backend.available)
  func `a background context sees the earlier saves of other background contexts`(
    strategy: StrategyKind, backend: Backend
  ) throws {
    let stack = try Stack(strategy, on: backend)
    let id = try stack.saveUser(named: "ada")
    #expect(!id.isTemporaryID)
    let second = stack.container.newBackgroundContext()
    try second.performAndWait {
      let user = try second.user(id)
      #expect(user.firstName == "First ada")
      #expect(user.lastName == "Last ada")
      #expect(user.userName == "ada")
    }
  }

  @Test(arguments: StrategyKind.allCases, Backend.available)
  func `a save of the view is in the store when it returns`(strategy: StrategyKind, backend: Backend) throws {
    let stack = try Stack(strategy, on: backend)
    let user = try ContainerUser.insert(named: "ada", into: stack.view)
    try stack.view.save()
    #expect(!stack.view.hasChanges)
    #expect(!user.objectID.isTemporaryID)
    #expect(try stack.storedName(of: user.objectID) == "ada")

    user.userName = "grace"
    try stack.view.save()
    #expect(try stack.storedName(of: user.objectID) == "grace")

    let id = user.objectID
    stack.view.delete(user)
    try stack.view.save()
    #expect(try stack.storedName(of: id) == nil)
  }

  @Test(arguments: StrategyKind.allCases, Backend.available)
  func `a save of a background context is in the store when it returns`(
    strategy: StrategyKind, backend: Backend
  ) throws {
    let stack = try Stack(strategy, on: backend)
    let id = try stack.saveUser(named: "ada")
    #expect(try stack.storedName(of: id) == "ada")
    try stack.change(id) { $0.userName = "grace" }
    #expect(try stack.storedName(of: id) == "grace")
  }

  @Test(arguments: StrategyKind.allCases, Backend.available)
  func `a background save never saves unsaved edits of the view`(
    strategy: StrategyKind, backend: Backend
  ) throws {
    let stack = try Stack(strategy, on: backend)
    let known = try stack.saveUser(named: "ada")
    let edited = try stack.view.user(known)
    edited.userName = "edited"
    let draft = try ContainerUser(context: stack.view)
    draft.firstName = "a draft without the user name that is required"
    try draft.setValue(nil, for: "userName")

    let id = try stack.saveUser(named: "grace")
    #expect(try stack.storedName(of: id) == "grace")
    #expect(try stack.storedName(of: known) == "ada")
    #expect(stack.view.hasChanges)
    #expect(edited.userName == "edited")
    #expect(draft.isInserted && draft.objectID.isTemporaryID)
    #expect(throws: CoherenceError.self) { try stack.view.save() }

    draft.userName = "draft"
    try stack.view.save()
    #expect(try stack.storedName(of: known) == "edited")
    #expect(try stack.storedName(of: draft.objectID) == "draft")
  }

  @Test func `a nested background context sees the unsaved edits of the view and does not save them`() throws {
    let stack = try Stack(.indirectNested, on: .sqlite)
    let id = try stack.saveUser(named: "ada")
    let user = try stack.view.user(id)
    user.firstName = "edited"
    let background = stack.container.newBackgroundContext()
    try background.performAndWait {
      let same = try background.user(id)
      #expect(same.firstName == "edited")
      same.lastName = "changed"
      try background.save()
    }
    stack.view.performAndWait {}
    #expect(user.lastName == "changed")
    #expect(user.firstName == "edited")
    #expect(stack.view.hasChanges)
    let context = ManagedObjectContext(coordinator: stack.container.persistentStoreCoordinator)
    try context.performAndWait {
      let stored = try context.user(id)
      #expect(stored.firstName == "First ada")
      #expect(stored.lastName == "changed")
    }
  }

  @Test func `the parent of a nested view is named root, and its parent is no context`() throws {
    for kind in [StrategyKind.mixed, .indirectNested] {
      let stack = try Stack(kind, on: .inMemory)
      let root = try #require(stack.view.parent)
      #expect(root.name == "root" && root.parent == nil)
    }
    let direct = try Stack(.direct, on: .inMemory)
    #expect(direct.view.parent == nil)
  }

  @Test func `strategies and background contexts do not retain each other`() throws {
    for kind in StrategyKind.allCases {
      weak var background: BackgroundContext?
      weak var container: (any PersistentContainer)?
      var kept: BackgroundContext?
      do {
        let stack = try Stack(kind, on: .inMemory)
        container = stack.container
        let context = stack.container.newBackgroundContext()
        background = context
        kept = stack.container.newBackgroundContext()
      }
      #expect(background == nil)
      #expect(container == nil)
      #expect(kept != nil)
    }
  }
}
