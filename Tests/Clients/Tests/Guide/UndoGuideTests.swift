import Coherence
import Testing

@MainActor
@Suite("The article about undo")
struct UndoGuideTests {
  private func track(_ title: String, in context: ManagedObjectContext) throws -> Track {
    let track = try Track(context: context)
    track.title = title
    return track
  }

  @Test func `a renamed album gets its former title back`() async throws {
    let container = try await Catalogue.filledContainer()
    let context = container.viewContext
    let album = try #require(try context.fetch(FetchRequest(Album.self).filter { $0.year == 1965 }).first)

    let history = UndoHistory(groupLimit: 100)
    context.undoHistory = history
    context.performAndWait {
      album.title = "Pastel Blues (Remastered)"
      history.nameGroup("Rename Album")
    }
    try history.undo()

    #expect(album.title == "Pastel Blues")
    #expect(history.redoName == "Rename Album" && !history.canUndo)
  }

  @Test func `one undo removes all tracks of a group`() async throws {
    let container = try await Catalogue.filledContainer()
    let context = container.viewContext
    let album = try #require(try context.fetch(FetchRequest(Album.self).filter { $0.year == 1965 }).first)
    let history = UndoHistory()
    context.undoHistory = history
    let titles = ["Ain't No Use", "Trouble in Mind"]

    history.beginGroup(named: "Add Bonus Tracks")
    for title in titles { album.tracks.append(try track(title, in: context)) }
    history.endGroup()

    #expect(album.tracks.count == 5 && history.undoName == "Add Bonus Tracks")
    try context.save()
    try history.undo()
    #expect(album.tracks.map(\.title) == ["Be My Husband", "Strange Fruit", "Sinnerman"])
    try context.save()
    #expect(try context.count(for: FetchRequest(Track.self)) == 3)
  }
}
