import CoherenceCore
import CoherenceStrategies
import Testing
import TestSupport

/// Edits of the view, and background saves that change the same property before the view is saved.
@MainActor
@Suite("Edits of the view that background saves overtake")
struct OvertakenEditTests {
  /// The result of an edit of the view, by the view's merge policy.
  enum Resolution: String, CaseIterable, Sendable {
    case storeTrumps, objectTrumps, overwrite, rollback

    var policy: MergePolicy {
      switch self {
      case .storeTrumps: .storeTrumps
      case .objectTrumps: .objectTrumps
      case .overwrite: .overwrite
      case .rollback: .rollback
      }
    }
    /// The property that both have changed.
    var userName: String { self == .objectTrumps || self == .overwrite ? "mine" : "theirs" }
    /// A property that the view alone has changed.
    var firstName: String { self == .rollback ? "First ada" : "mine" }
  }

  @Test(arguments: StrategyKind.following, Backend.available)
  func `the view shows its edit over a background save of the property, and its save is a conflict`(
    strategy: StrategyKind, backend: Backend
  ) throws {
    let (stack, id, user) = try Stack.editing(strategy, on: backend)
    try stack.change(id) { $0.userName = "theirs" }
    stack.view.performAndWait {}
    #expect(user.userName == "mine")

    let error = #expect(throws: CoherenceError.self) { try stack.view.save() }
    #expect(error?.code == .versionConflict)
    let conflict = try #require(error?.conflicts.first)
    let slot = try #require(user.entity.attribute(named: "userName")).slot
    #expect(conflict.ancestor?[slot] == .string("ada"))
    #expect(conflict.mine?[slot] == .string("mine"))
    #expect(conflict.store?[slot] == .string("theirs"))
    #expect(user.userName == "mine" && stack.view.hasChanges)
    #expect(try stack.storedName(of: id) == "theirs")

    stack.view.mergePolicy = .objectTrumps
    try stack.view.save()
    #expect(try stack.storedName(of: id) == "mine")
    stack.view.mergePolicy = .error
    try stack.expectSavesOfBothContexts(id, user)
  }

  @Test(arguments: StrategyKind.following, Backend.available)
  func `a save of the view merges with an unseen save of another property`(
    strategy: StrategyKind, backend: Backend
  ) throws {
    let (stack, id, user) = try Stack.editing(strategy, on: backend)
    let stranger = try stack.makeStranger()
    try Stack.change(id, in: stranger) { $0.lastName = "theirs" }
    try stack.view.save()
    #expect(user.userName == "mine" && user.lastName == "theirs" && !stack.view.hasChanges)
    #expect(try stack.storedName(of: id) == "mine")

    user.userName = "mine again"
    try Stack.change(id, in: stranger) { $0.userName = "theirs again" }
    #expect { try stack.view.save() } throws: { ErrorCode.versionConflict ~= $0 }
    #expect(user.userName == "mine again" && stack.view.hasChanges)
  }

  @Test(arguments: StrategyKind.following, Backend.available)
  func `a policy without a rule for the record merges with an unseen save of another property`(
    strategy: StrategyKind, backend: Backend
  ) throws {
    let (stack, id, user) = try Stack.editing(strategy, on: backend)
    stack.view.mergePolicy = .byProperty([], otherwise: .error)
    let stranger = try stack.makeStranger()
    try Stack.change(id, in: stranger) { $0.lastName = "theirs" }
    try stack.view.save()
    #expect(user.userName == "mine" && user.lastName == "theirs" && !stack.view.hasChanges)

    user.userName = "mine again"
    try Stack.change(id, in: stranger) { $0.userName = "theirs again" }
    #expect { try stack.view.save() } throws: { ErrorCode.versionConflict ~= $0 }
  }

  @Test(arguments: StrategyKind.following, Backend.available)
  func `a delete of an edited record that a background save has deleted is no conflict`(
    strategy: StrategyKind, backend: Backend
  ) throws {
    let (stack, id, user) = try Stack.editing(strategy, on: backend)
    try stack.delete(id)
    stack.view.performAndWait {}
    stack.view.delete(user)
    try stack.view.save()
    #expect(try stack.storedName(of: id) == nil)
    #expect(!stack.view.hasChanges)
  }

  @Test(arguments: Backend.available)
  func `an independent view has a conflict with a save of another property`(backend: Backend) throws {
    let (stack, id, _) = try Stack.editing(.directIndependent, on: backend)
    try stack.change(id) { $0.lastName = "theirs" }
    #expect { try stack.view.save() } throws: { ErrorCode.versionConflict ~= $0 }
    #expect(try stack.storedName(of: id) == "ada")
  }

  @Test(arguments: StrategyKind.following, Resolution.allCases)
  func `the view's merge policy decides over a property that view and background have changed`(
    strategy: StrategyKind, resolution: Resolution
  ) throws {
    let (stack, id, user) = try Stack.editing(strategy, on: .sqlite)
    user.firstName = "mine"
    try stack.change(id) {
      $0.userName = "theirs"
      $0.lastName = "theirs"
    }
    stack.view.mergePolicy = resolution.policy
    try stack.view.save()
    #expect(!stack.view.hasChanges)
    #expect(user.userName == resolution.userName)
    #expect(user.firstName == resolution.firstName)
    #expect(user.lastName == "theirs")
    #expect(try stack.storedName(of: id) == resolution.userName)
  }

  @Test(arguments: StrategyKind.following, Backend.available)
  func `a background save that restores the old value leaves no conflict for the view`(
    strategy: StrategyKind, backend: Backend
  ) throws {
    let (stack, id, _) = try Stack.editing(strategy, on: backend)
    let background = stack.container.newBackgroundContext()
    try background.performAndWait {
      let user = try background.user(id)
      for name in ["theirs", "ada"] {
        user.userName = name
        try background.save()
      }
    }
    try stack.view.save()
    #expect(try stack.storedName(of: id) == "mine")
  }

  @Test(arguments: StrategyKind.following)
  func `a refresh or a rollback of the view ends a conflict with a background save`(strategy: StrategyKind) throws {
    let (stack, id, user) = try Stack.editing(strategy, on: .sqlite)
    try stack.change(id) { $0.userName = "theirs" }
    #expect { try stack.view.save() } throws: { ErrorCode.versionConflict ~= $0 }
    stack.view.refresh(user, mergeChanges: true)
    #expect(user.userName == "mine")
    try stack.view.save()
    #expect(try stack.storedName(of: id) == "mine")

    user.userName = "mine again"
    try stack.change(id) { $0.userName = "theirs again" }
    #expect { try stack.view.save() } throws: { ErrorCode.versionConflict ~= $0 }
    stack.view.rollback()
    #expect(user.userName == "theirs again")
    user.userName = "mine at last"
    try stack.view.save()
    #expect(try stack.storedName(of: id) == "mine at last")
  }

  @Test(arguments: StrategyKind.following, Backend.available)
  func `an edit of a record that a background save has deleted is a conflict when the view is saved`(
    strategy: StrategyKind, backend: Backend
  ) throws {
    let (stack, id, user) = try Stack.editing(strategy, on: backend)
    try stack.delete(id)
    let error = #expect(throws: CoherenceError.self) { try stack.view.save() }
    #expect(error?.code == .versionConflict && error?.conflicts.first?.store == nil)
    #expect(user.userName == "mine")
    stack.view.mergePolicy = .storeTrumps
    try stack.view.save()
    #expect(try stack.storedName(of: id) == nil)
    #expect(!stack.view.hasChanges)
  }

  @Test(arguments: Backend.available)
  func `a nested context with a read edit of the view does not overwrite another context's save`(
    backend: Backend
  ) throws {
    let (stack, id, _) = try Stack.editing(.indirectNested, on: backend)
    try stack.change(id) { $0.userName = "theirs" }
    // First before the view has applied the save, then afterwards.
    for isTakenIn in [false, true] {
      if isTakenIn { stack.view.performAndWait {} }
      let background = stack.container.newBackgroundContext()
      try background.performAndWait {
        let user = try background.user(id)
        #expect(user.userName == "mine")
        user.userName = "late"
        let error = #expect(throws: CoherenceError.self) { try background.save() }
        #expect(error?.code == .versionConflict)
      }
      #expect(try stack.storedName(of: id) == "theirs")
    }
    let background = stack.container.newBackgroundContext()
    try background.performAndWait {
      let user = try background.user(id)
      user.userName = "late"
      background.refresh(user, mergeChanges: true)
      try background.save()
    }
    #expect(try stack.storedName(of: id) == "late")
    #expect(try stack.view.user(id).userName == "mine")
  }
}
