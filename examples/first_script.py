"""A first training script, as many are written: it runs, and it holds the five mistakes that torchlint looks for first.

python examples/first_script.py --epochs 2 [--resume model.pt]
"""

import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader
from torch.utils.tensorboard import SummaryWriter
from torchvision import datasets, transforms

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class SmallNet(nn.Module):
    def __init__(self, classes=10):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 16, 3, padding=1),
            nn.BatchNorm2d(16),
            nn.ReLU(),
            nn.AdaptiveAvgPool2d(4),
            nn.Flatten(),
        )
        self.head = nn.Sequential(nn.Dropout(0.2), nn.Linear(16 * 4 * 4, classes))

    def forward(self, images):
        return self.head(self.features(images))


def validate(model, loader, criterion):
    total = 0.0
    with torch.no_grad():
        for images, labels in loader:
            images, labels = images.to(device), labels.to(device)
            total += criterion(model(images), labels).item() * len(labels)
    return total / len(loader.dataset)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--resume")
    args = parser.parse_args()

    transform = transforms.Compose([transforms.RandomHorizontalFlip(), transforms.ToTensor()])
    train_set = datasets.FakeData(512, (3, 32, 32), 10, transform)
    val_set = datasets.FakeData(128, (3, 32, 32), 10, transforms.ToTensor(), random_offset=512)
    train_loader = DataLoader(train_set, batch_size=64, shuffle=True)
    val_loader = DataLoader(val_set, batch_size=64)

    model = SmallNet().to(device)
    if args.resume:
        model.load_state_dict(torch.load(args.resume))
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    writer = SummaryWriter()

    model.train()
    for epoch in range(args.epochs):
        train_loss = 0.0
        for images, labels in train_loader:
            images = images.cuda()
            labels = labels.to(device)
            loss = criterion(model(images), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            train_loss += loss.item() * len(labels)
        train_loss /= len(train_set)
        val_loss = validate(model, val_loader, criterion)
        writer.add_scalar("loss", train_loss, epoch)
        writer.add_scalar("loss", val_loss, epoch)
        print(f"epoch {epoch}: train {train_loss:.3f}, validation {val_loss:.3f}")
    writer.close()
    torch.save(model.state_dict(), "model.pt")


if __name__ == "__main__":
    main()
