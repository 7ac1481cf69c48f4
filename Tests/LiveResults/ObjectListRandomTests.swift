import CoherenceCore
import CoherenceStrategies
import Foundation
import TestRandom
import TestSupport
import Testing

/// Lists of objects beside random changes of their records.
@MainActor
@Suite("Random changes beside lists of objects", .timeLimit(.minutes(15)))
struct ObjectListRandomTests {
  /// The strategies whose view follows the saves of background contexts.
  nonisolated private static let strategies = LiveStrategy.allCases.filter { $0 != .directIndependent }

  @Test(arguments: strategies, Backend.available)
  func `each element of a list is the object of its record, or an object of a vanished record`(
    strategy: LiveStrategy, backend: Backend
  ) throws {
    for seed in SeededRandom.seeds {
      var world = try ListedWorld(strategy, backend, seed: seed)
      for step in 0..<150 {
        try world.act()
        let difference = try world.difference()
        #expect(difference == nil, "COHERENCE_SEED=\(seed), step \(step)")
        if difference != nil { return }
      }
    }
  }
}

/// A list, and the titles of the records that it was made of.
@MainActor
private struct ListedWorld {
  private let stack: LiveLibrary.Stack
  private var random: SeededRandom
  private var list: ObjectList<ManagedObject>
  private var titles: [String] = []
  private var count = 0
  /// Objects that the program retains.
  private var retained: [ManagedObject] = []

  private var view: ManagedObjectContext { stack.view }
  private static let request = LiveLibrary.tracks.sort("length", .reverse)

  init(_ strategy: LiveStrategy, _ backend: Backend, seed: UInt64) throws {
    stack = try LiveLibrary.Stack(strategy, on: backend)
    random = SeededRandom(seed: seed)
    list = try stack.view.list(Self.request)
    try stack.write { context in
      for number in 0..<40 { try LiveLibrary.track("saved \(number)", length: number % 7, in: context) }
    }
    try makeList()
  }

  private mutating func makeList() throws {
    list = try view.list(Self.request, batchSize: random.next(below: 12) + 1)
    titles = try view.fetch(Self.request).map(Self.title)
  }

  private static func title(_ track: ManagedObject) throws -> String { try track.value(for: "title", as: String.self) }

  mutating func act() throws {
    count += 1
    switch random.next(below: 12) {
    case 0, 1: try LiveLibrary.track("new \(count)", length: random.next(below: 7), in: view)
    case 2: try change { try $0.setValue($1, for: "length") }
    case 3: try change { track, _ in track.managedObjectContext?.delete(track) }
    case 4: try view.save()
    case 5: view.rollback()
    case 6: view.reset()
    case 7:
      let (title, length) = ("other \(count)", random.next(below: 7))
      try stack.write { _ = try LiveLibrary.track(title, length: length, in: $0) }
    case 8, 9: try changeElsewhere()
    case 10: if !list.isEmpty { retained.append(list[random.next(below: list.count)]) }
    default: if random.isTrue(0.5) { try makeList() } else { retained = [] }
    }
  }

  /// Changes a record of the view.
  private mutating func change(_ body: (ManagedObject, Int) throws -> Void) throws {
    let tracks = try view.fetch(Self.request)
    guard !tracks.isEmpty else { return }
    try body(tracks[random.next(below: tracks.count)], random.next(below: 7))
  }

  /// Changes or deletes a record in a background context. A record with unsaved changes in the view is left alone,
  /// because its save would be a conflict.
  private mutating func changeElsewhere() throws {
    let unsaved = Set((Array(view.updatedObjects) + Array(view.deletedObjects)).map(\.objectID))
    var request = Self.request
    request.includesPendingChanges = false
    let ids = try view.fetchIDs(request).filter { !unsaved.contains($0) && !$0.isTemporaryID }
    guard !ids.isEmpty else { return }
    let (id, length) = (ids[random.next(below: ids.count)], random.isTrue(0.5) ? random.next(below: 7) : nil)
    try stack.write { context in
      guard let track = try context.objects(for: [id]).first else { return }
      if let length { try track.setValue(length, for: "length") } else { context.delete(track) }
    }
  }

  /// Compares elements with the objects of fetches. Returns a description of the first difference.
  mutating func difference() throws -> String? {
    guard list.count == titles.count else { return "the list has \(list.count) elements of \(titles.count)" }
    guard !titles.isEmpty else { return nil }
    let start = random.next(below: titles.count)
    let indexes = random.isTrue(0.2) ? 0..<titles.count : start..<min(start + 3, titles.count)
    let present = try Dictionary(view.fetch(LiveLibrary.tracks).map { (try Self.title($0), $0) }) { first, _ in first }
    for index in indexes {
      let element = list[index]
      guard let object = present[titles[index]] else {
        if element.isDeleted || element.managedObjectContext == nil { continue }
        return "the element of the vanished record '\(titles[index])' is \(element)"
      }
      if element !== object { return "the element of '\(titles[index])' is \(element)" }
      if list.objectID(at: index) != object.objectID { return "the identifier of '\(titles[index])' is another one" }
      if list.index(of: object.objectID) != index { return "the index of '\(titles[index])' is another one" }
    }
    return nil
  }
}
