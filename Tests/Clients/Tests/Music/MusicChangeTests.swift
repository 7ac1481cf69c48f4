import Coherence
import Foundation
import Synchronization
import Testing

@testable import MusicClient

/// Background tasks change the library while the main actor reads it.
///
/// Each background transaction moves plays from one track to another, or replaces a track by a new one with the same
/// plays, so that the number of tracks and the sum of plays are the same in every state of the store.
@Suite("A music library that changes while it is read", .timeLimit(.minutes(10)))
struct MusicChangeTests {
  private static let editCount = 60
  private static let lostRaces: Set<ErrorCode> = [.versionConflict, .recordVanished, .objectNotFound]

  /// Changes the library in a background context.
  private static func edit(_ number: Int, in container: Music.Container) async throws {
    while true {
      do {
        return try await container.performBackgroundTask { context in
          let tracks = try context.fetch(FetchRequest(Track.self).filter { $0.plays > 0 }.sort(\.title))
          let (one, other) = (tracks[number * 7 % tracks.count], tracks[(number * 13 + 1) % tracks.count])
          if number.isMultiple(of: 3) {
            let track = try Track(context: context)
            track.title = "New \(number)"
            track.length = one.length
            track.plays = one.plays
            track.album = other.album
            context.delete(one)
          } else if one != other {
            one.plays -= 1
            other.plays += 1
          }
          try context.save()
        }
      } catch let error as CoherenceError where error.isRetryable || Self.lostRaces.contains(error.code) {
        // Another worker changed or replaced a track after this one had read it.
        continue
      }
    }
  }

  @MainActor @Test(arguments: MusicStage.Store.available)
  func `each snapshot on the main actor has every track once and every play`(_ store: MusicStage.Store) async throws {
    let stage = try await MusicStage(on: store)
    let (trackCount, plays) = (stage.collection.tracks.count, stage.collection.tracks.reduce(0) { $0 + $1.plays })
    let container = stage.container
    let isDone = Mutex(false)
    async let edits: Void = {
      defer { isDone.withLock { $0 = true } }
      try await withThrowingTaskGroup(of: Void.self) { group in
        for worker in 0..<4 {
          group.addTask {
            for number in 0..<Self.editCount { try await Self.edit(worker * Self.editCount + number, in: container) }
          }
        }
        try await group.waitForAll()
      }
    }()
    let view = container.viewContext
    var rounds = 0
    repeat {
      try view.withSnapshot {
        let albums = try view.fetch(FetchRequest(Album.self).sort(\.title))
        let walked = albums.flatMap { album in album.tracks.map { $0 } }
        #expect(walked.count == trackCount)
        #expect(Set(walked.map(\.objectID)).count == trackCount)
        #expect(walked.reduce(0) { $0 + $1.plays } == plays)
        #expect(walked.allSatisfy { !$0.title.isEmpty && $0.album != nil })
        #expect(try view.sum(of: \.plays, for: FetchRequest(Track.self)) == plays)
        let played = try view.fetch(FetchRequest(Track.self).filter { $0.plays > 0 })
        #expect(played.allSatisfy { $0.plays > 0 })
      }
      rounds += 1
      await Task.yield()
    } while !isDone.withLock { $0 }
    try await edits
    #expect(rounds > 1 && view.reportedErrors.isEmpty)
  }

  @MainActor @Test(arguments: MusicStage.Store.available)
  func `a live list has each track once, has no deleted track, and ends with the store's tracks`(
    _ store: MusicStage.Store
  ) async throws {
    let stage = try await MusicStage(on: store)
    let container = stage.container
    let view = container.viewContext
    let list = TrackList(view)
    let edits = Task {
      for number in 0..<Self.editCount { try await Self.edit(number, in: container) }
      try await container.performBackgroundTask { context in
        let track = try #require(try context.fetch(FetchRequest(Track.self).sort(\.title).limit(1)).first)
        track.title = "The end"
        track.plays = 1_000
        try context.save()
      }
    }
    try await list.run { titles in
      #expect(Set(titles).count == titles.count && !titles.contains(""))
      return titles.first != "The end"
    }
    try await edits.value
    let request = FetchRequest(Track.self).filter { $0.plays > 0 }.sort(\.plays, .reverse).sort(\.title)
    #expect(list.titles == (try await container.performBackgroundTask { try $0.fetch(request).map(\.title) }))
    #expect(view.reportedErrors.isEmpty)
  }
}
