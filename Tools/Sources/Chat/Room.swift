/// Simulates a server: generates the events of a room. The same seed generates the same events.
struct Room: Sequence, IteratorProtocol {
  private var random: RoomDice
  private var authors = ["Ada", "Grace", "Alan"].enumerated().map { Author(id: $0.offset, name: $0.element) }
  private var messages: [Message.ID] = []
  private var lastID = 0

  init(seed: UInt64) {
    random = RoomDice(state: seed)
  }

  mutating func next() -> Event? {
    guard let known = messages.randomElement(using: &random) else { return say() }
    switch Int.random(in: 0..<10, using: &random) {
    case 0..<5: return say()
    case 5..<7: return .liked(message: known)
    case 7: return rename()
    case 8: return walk()
    default:
      messages.removeAll { $0 == known }
      return .deleted(message: known)
    }
  }

  private mutating func say() -> Event? {
    let words = ["Good morning.", "Who has the build?", "It is green.", "Lunch?", "Look at this.", "Agreed."]
    guard let author = authors.randomElement(using: &random), let text = words.randomElement(using: &random) else {
      return nil
    }
    lastID += 1
    messages.append(lastID)
    return .said(Message(id: lastID, text: text, author: author))
  }

  private mutating func rename() -> Event? {
    let place = Int.random(in: authors.indices, using: &random)
    authors[place].name += "+"
    return .renamed(author: authors[place].id, to: authors[place].name)
  }

  private mutating func walk() -> Event? {
    let place = Int.random(in: authors.indices, using: &random)
    authors[place].isAway.toggle()
    return .away(author: authors[place].id, authors[place].isAway)
  }
}

/// Random numbers that a seed repeats.
struct RoomDice: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}
