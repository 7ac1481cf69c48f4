import CoherenceCore
import CoherenceStrategies
import Testing
import TestSupport

@MainActor
@Suite("Conflicts in strategies")
struct ConflictTests {
  @Test(arguments: StrategyKind.following, Backend.available)
  func `edits of different properties by the view and a background context are merged`(
    strategy: StrategyKind, backend: Backend
  ) throws {
    let stack = try Stack(strategy, on: backend)
    let id = try stack.saveUser(named: "ada")
    let user = try stack.view.user(id)
    user.firstName = "mine"
    try stack.change(id) { $0.lastName = "theirs" }
    try stack.view.save()
    #expect(user.firstName == "mine")
    #expect(user.lastName == "theirs")
    let context = stack.container.newBackgroundContext()
    try context.performAndWait {
      let stored = try context.user(id)
      #expect(stored.firstName == "mine")
      #expect(stored.lastName == "theirs")
    }
    try stack.expectSavesOfBothContexts(id, user)
  }

  @Test(arguments: StrategyKind.following, Backend.available)
  func `edits of different properties by the view and another program are merged before the first background context`(
    strategy: StrategyKind, backend: Backend
  ) throws {
    let stack = try Stack(strategy, on: backend)
    let user = try ContainerUser.insert(named: "ada", into: stack.view)
    try stack.view.save()
    user.firstName = "mine"
    try stack.changeAsStranger(user.objectID) { $0.lastName = "theirs" }
    try stack.view.save()
    #expect(user.firstName == "mine")
    #expect(user.lastName == "theirs")
  }

  @Test(arguments: StrategyKind.allCases, Backend.available)
  func `the view reports a conflict with another program, which can be resolved`(
    strategy: StrategyKind, backend: Backend
  ) throws {
    let (stack, id, user) = try Stack.editing(strategy, on: backend)
    try stack.changeAsStranger(id) { $0.userName = "theirs" }

    #expect { try stack.view.save() } throws: { ErrorCode.versionConflict ~= $0 }
    #expect(stack.view.hasChanges)
    #expect(try stack.storedName(of: id) == "theirs")

    // The conflict does not affect background contexts.
    let other = try stack.saveUser(named: "grace")
    #expect(try stack.storedName(of: other) == "grace")

    stack.view.mergePolicy = .objectTrumps
    try stack.view.save()
    #expect(!stack.view.hasChanges)
    #expect(try stack.storedName(of: id) == "mine")
    user.userName = "mine again"
    stack.view.mergePolicy = .error
    try stack.view.save()
    #expect(try stack.storedName(of: id) == "mine again")
  }

  @Test(arguments: StrategyKind.allCases)
  func `after a conflict a rollback of the view shows the values of the store`(strategy: StrategyKind) throws {
    let (stack, id, user) = try Stack.editing(strategy, on: .sqlite)
    try stack.changeAsStranger(id) { $0.userName = "theirs" }
    #expect { try stack.view.save() } throws: { ErrorCode.versionConflict ~= $0 }

    stack.view.rollback()
    #expect(user.userName == "theirs")
    user.userName = "mine now"
    try stack.view.save()
    #expect(try stack.storedName(of: id) == "mine now")
  }

  @Test(arguments: Backend.available)
  func `nested background contexts save a record one after the other while the view edits it and is busy`(
    backend: Backend
  ) throws {
    let stack = try Stack(.indirectNested, on: backend)
    let id = try stack.saveUser(named: "ada")
    let shown = try stack.view.user(id)
    shown.firstName = "edited"
    // The view is not entered until the end, and applies no save.
    for name in ["one", "two", "three"] {
      try stack.change(id) { user in
        #expect(user.firstName == "edited", "A nested context sees the view's edits.")
        user.userName = name
        user.lastName = (user.lastName ?? "") + name
      }
    }
    #expect(try stack.storedName(of: id) == "three")
    #expect(shown.firstName == "edited")
    try stack.view.save()
    let context = stack.container.newBackgroundContext()
    try context.performAndWait {
      let stored = try context.user(id)
      #expect(stored.lastName == "Last adaonetwothree")
      #expect(stored.firstName == "edited")
    }
  }

  @Test(arguments: Backend.available)
  func `two saves of a nested context during an edit of the view do not conflict with each other`(
    backend: Backend
  ) throws {
    let stack = try Stack(.indirectNested, on: backend)
    let id = try stack.saveUser(named: "ada")
    try stack.view.user(id).firstName = "edited"
    let background = stack.container.newBackgroundContext()
    background.mergePolicy = .storeTrumps
    try background.performAndWait {
      let user = try background.user(id)
      for name in ["one", "two", "three"] {
        user.userName = name
        try background.save()
      }
    }
    #expect(try stack.storedName(of: id) == "three")
  }

  @Test(arguments: Backend.available)
  func `the saver's merge policy decides a conflict between the view and a nested context`(
    backend: Backend
  ) throws {
    let stack = try Stack(.indirectNested, on: backend)
    let id = try stack.saveUser(named: "ada")
    let background = stack.container.newBackgroundContext()
    background.mergePolicy = .storeTrumps
    try background.performAndWait {
      let user = try background.user(id)
      user.userName = "background"
      user.lastName = "background"
      try stack.changeAsStranger(id) { $0.userName = "stranger" }
      try background.save()
    }
    #expect(try stack.storedName(of: id) == "stranger")
    #expect(try stack.view.user(id).lastName == "background")
  }
}
