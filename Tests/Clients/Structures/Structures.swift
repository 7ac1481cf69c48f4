import Coherence
import CoherenceMacros
import CoherenceMapping

struct Author: Codable, Equatable, Identifiable {
  let id: Int
  var name: String
}

@Aggregate struct Book: Identifiable, Equatable {
  let id: Int
  var title: String
  var author: Author
}

@main struct Structures {
  static func main() async throws {
    let authors = Mapping<Author>("Author", uid: \.id) {
      Field("id", \.id)
      Field("name", \.name)
    }
    let manager = PersistenceManager(name: "Library", model: try ManagedObjectModel { authors })
    try await manager.load()
    try await manager.save(authors, models: [Author(id: 7, name: "Ursula Le Guin")], shouldOverwrite: false)

    let store = EntityStore()
    var books: [Book] = []
    for author in try await manager.fetchModels(authors, where: authors[\.name].contains("Guin")) {
      books.append(Book(id: 1, title: "Lavinia", author: author))
      books.append(Book(id: 2, title: "The Dispossessed", author: author))
    }
    let shelf = store.store(entities: books)  // released when nothing holds or observes them
    store.update(Author.self, id: 7) { $0.name = "Ursula K. Le Guin" }
    for book in shelf.current { print("\(book.author.name): \(book.title)") }
  }
}
